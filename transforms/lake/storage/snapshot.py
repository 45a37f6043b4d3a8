"""A snapshot: one moment of the whole lake, and how to read any table as of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from deltalake import DeltaTable

from memlake.schemas import TABLES
from memlake.schemas.table import Table
from memlake.schemas.vectors import vectors_table
from memlake.transforms.base.errors import LakeCorruptError

BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class Pin:
    """The version of one table in a snapshot; `location` is relative to the lake's root."""

    table: str
    location: str
    version: int

    @property
    def is_lance(self) -> bool:
        """Whether this is a LanceDB table rather than a Delta table."""
        return self.location.startswith("lance/")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A published version of the lake; `snapshot_id` is '' and `pins` empty before the first publish."""

    root: Path
    snapshot_id: str = ""
    sequence: int = 0
    created_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    base_snapshot_id: str | None = None
    run_id: str = ""
    operation: str = ""
    pins: Mapping[str, Pin] = field(default_factory=dict)

    def delta(self, table: str) -> DeltaTable | None:
        """The Delta table at its pinned version; None when the snapshot has no such table yet.

        Raises:
            LakeCorruptError: its log no longer holds the pinned version.
        """
        pin = self.pins.get(table)
        if pin is None:
            return None
        try:
            return DeltaTable(self.root / pin.location, version=pin.version)
        except Exception as error:
            raise LakeCorruptError(
                f"table={table} version={pin.version} of snapshot={self.snapshot_id} cannot be opened: {error}",
                hint="memlake tables verify",
            ) from error

    def files(self, table: str) -> list[Path]:
        """The Parquet files of a table, and no others, in a fixed order."""
        opened = self.delta(table)
        return [] if opened is None else parquet_files(self.root / self.pins[table].location, opened)

    def dataset(self, table: str) -> pads.Dataset:
        """A PyArrow dataset over exactly the snapshot's files, in the table's declared schema."""
        declared = TABLES[table]
        files = self.files(table)
        if not files:
            return pads.dataset(declared.empty())
        location = self.root / self.pins[table].location
        keys = pa.schema([declared.schema.field(name) for name in declared.partition_by])
        return pads.dataset(
            [str(file) for file in files],
            schema=declared.schema,
            format="parquet",
            partitioning=pads.partitioning(keys, flavor="hive") if declared.partition_by else None,
            partition_base_dir=str(location),
        )

    def batches(
        self, table: str, *, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Stream a table's rows; memory depends on the batch size, not on the table."""
        scanner = self.dataset(table).scanner(
            columns=None if columns is None else list(columns), filter=where, batch_size=BATCH_ROWS, use_threads=False
        )
        yield from scanner.to_batches()

    def read(self, table: str, *, columns: Sequence[str] | None = None, where: pc.Expression | None = None) -> pa.Table:
        """Read a table, or some columns and rows of it, into memory."""
        chosen = list(columns) if columns is not None else TABLES[table].schema.names
        return self.dataset(table).to_table(columns=chosen, filter=where)

    def vectors(self, representation: str, embedder: str) -> lance.LanceDataset | None:
        """The Lance table of a representation's vectors by an embedder, at its pinned version."""
        return self.lance_table(vectors_table(representation, embedder))

    def lance_table(self, table: str) -> lance.LanceDataset | None:
        """A Lance table at its pinned version; None when the snapshot has no such table."""
        pin = self.pins.get(table)
        if pin is None:
            return None
        try:
            return lance.dataset(str(self.root / pin.location), version=pin.version)
        except Exception as error:
            raise LakeCorruptError(
                f"vectors={table} version={pin.version} of snapshot={self.snapshot_id} cannot be opened: {error}",
                hint="memlake tables verify",
            ) from error

    def lance_tables(self) -> list[str]:
        """Names of the Lance tables of this snapshot."""
        return sorted(name for name, pin in self.pins.items() if pin.is_lance)


def parquet_files(location: Path, opened: DeltaTable) -> list[Path]:
    """The files of a version of a Delta table, in a fixed order."""
    return sorted(location / path for path in pa.table(opened.get_add_actions()).column("path").to_pylist())


def hive_folder(table: Table, values: Mapping[str, str]) -> str:
    """Relative folder of one partition, '' when the table has none; names are checked before they get here."""
    return "/".join(f"{name}={values[name]}" for name in table.partition_by)
