"""Open a lake, find its snapshots, name them."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from memlake.schemas import ALL, SNAPSHOTS, TAGS
from memlake.schemas.table import Table
from memlake.transforms.base.errors import LakeConflictError, LakeCorruptError, NotFoundError, UsageError
from memlake.transforms.base.ids import check_name
from memlake.transforms.lake.storage.lock import Lock, acquire
from memlake.transforms.lake.storage.snapshot import Pin, Snapshot, parquet_files

# Old tags must stay readable, and reading an old version needs its log entries (Delta drops them after 30 days).
DELTA_CONFIGURATION = {
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
}
# A writer that lost its lock must fail rather than append a second head.
FENCED = CommitProperties(max_commit_retries=0)
# Journals, and the tables that describe the lake itself: read as they are now, whatever snapshot is looked at.
UNPINNED = (*(table for table in ALL if table.journal), SNAPSHOTS, TAGS)


@dataclass(frozen=True, slots=True)
class Lake:
    """A folder of Delta and Lance tables whose versions are published together."""

    root: Path

    @property
    def uri(self) -> str:
        """The lake's location as the user would write it."""
        return str(self.root)

    @property
    def staged(self) -> Path:
        """Where staged manifests wait for their commit."""
        return self.root / "staged"

    def table_path(self, table: str) -> Path:
        """Where a Delta table lies."""
        return self.root / "parquet" / table

    def open_table(self, table: Table) -> DeltaTable:
        """The head of a Delta table, created empty when it is not there yet."""
        path = self.table_path(table.name)
        if DeltaTable.is_deltatable(str(path)):
            return DeltaTable(path)
        try:
            return DeltaTable.create(
                path,
                table.schema,
                mode="error",
                partition_by=list(table.partition_by) or None,
                name=table.name,
                description=f"one row is {table.grain}",
                configuration=DELTA_CONFIGURATION,
                # Unfenced, the slower of two creators would describe the table again in a version of its own, and an
                # append of the faster one would fail on that.
                commit_properties=FENCED,
            )
        except DeltaError:
            return DeltaTable(path)  # another writer created it in between

    def files(self, table: Table, snapshot: Snapshot) -> list[Path]:
        """The Parquet files of a table: a snapshot's, or for what no snapshot pins the newest."""
        return self.newest_files(table) if table in UNPINNED else snapshot.files(table.name)

    def newest_files(self, table: Table) -> list[Path]:
        """The Parquet files of a table as of now; none when it was never written."""
        path = self.table_path(table.name)
        return parquet_files(path, DeltaTable(path)) if DeltaTable.is_deltatable(str(path)) else []

    def snapshots(self) -> pa.Table:
        """Every published snapshot, oldest first."""
        return _rows_of(self.open_table(SNAPSHOTS))

    def latest(self) -> Snapshot:
        """The latest snapshot, or an empty one before the first publish."""
        return self.head()[1]

    def head(self) -> tuple[DeltaTable, Snapshot]:
        """The table of snapshots as it stands, for `append_snapshot`, and the latest snapshot in it."""
        book = self.open_table(SNAPSHOTS)
        rows = _rows_of(book)
        last = rows.slice(max(rows.num_rows - 1, 0)).to_pylist()
        return book, self._snapshot(last[0]) if last else Snapshot(self.root)

    def snapshot(self, at: str = "latest") -> Snapshot:
        """Resolve 'latest', a snapshot id or a tag.

        Raises:
            NotFoundError: there is no such snapshot, or none at all yet.
        """
        rows = {row["snapshot_id"]: row for row in self.snapshots().to_pylist()}
        if not rows:
            raise NotFoundError(f"lake={self.uri} holds no snapshot yet", hint="memlake ingest SOURCE --corpus NAME")
        tags = {} if at == "latest" else self.tags()
        wanted = next(reversed(rows)) if at == "latest" else tags.get(at, at)
        if wanted in rows:
            return self._snapshot(rows[wanted])
        names = ["latest", *tags, *rows]
        nearest = ", ".join(get_close_matches(at, names, cutoff=0.4)) or ", ".join(names[:5])
        raise NotFoundError(f"snapshot={at!r} is unknown; nearest: {nearest}", hint="memlake snapshots ls")

    def tags(self) -> dict[str, str]:
        """Tag to snapshot id."""
        if not DeltaTable.is_deltatable(str(self.table_path(TAGS.name))):
            return {}
        rows = self.open_table(TAGS).to_pyarrow_table()
        return dict(zip(rows["tag"].to_pylist(), rows["snapshot_id"].to_pylist(), strict=True))

    def tag(self, name: str, at: str = "latest", *, run_id: str = "tag", lock_timeout_s: float = 60.0) -> Snapshot:
        """Give a snapshot a name, taking the name away from any other.

        Raises:
            UsageError, NotFoundError: the name is none, or there is no such snapshot.
            LakeBusyError, LakeConflictError: another writer was there; the tags are as they were.
        """
        check_name("tag", name)
        if name == "latest":
            raise UsageError("tag='latest' always names the newest snapshot", hint="choose another tag")
        with self.lock(run_id, timeout_s=lock_timeout_s):
            snapshot = self.snapshot(at)
            held = self.open_table(TAGS)
            kept = [row for row in held.to_pyarrow_table().to_pylist() if row["tag"] != name]
            new = {"tag": name, "snapshot_id": snapshot.snapshot_id, "created_at": datetime.now(UTC)}
            try:
                write_deltalake(held, TAGS.rows([*kept, new]), mode="overwrite", commit_properties=FENCED)
            except DeltaError as error:
                raise LakeConflictError(
                    f"another writer changed the tags of lake={self.uri} meanwhile: {error}",
                    hint="run the command again",
                ) from error
        return snapshot

    @contextmanager
    def lock(self, run_id: str, *, timeout_s: float = 60.0) -> Iterator[Lock]:
        """Hold the lake's single writer lock; every commit, tag and restore takes it."""
        with acquire(self.root / "lock", run_id, timeout_s=timeout_s) as held:
            yield held

    def journal(self, table: Table, rows: pa.Table) -> None:
        """Append rows to a journal at once; journals belong to no snapshot and are never restored."""
        if not table.journal:
            raise ValueError(f"table={table.name} is not a journal")
        if rows.num_rows:
            # Appends of a journal never conflict in meaning, so the library may retry them.
            merge: Literal["merge"] | None = "merge" if table.has_later_columns else None
            write_deltalake(self.open_table(table), rows.cast(table.schema), mode="append", schema_mode=merge)

    def append_snapshot(
        self,
        book: DeltaTable,
        base: Snapshot,
        pins: Mapping[str, Pin],
        *,
        run_id: str,
        operation: str,
        snapshot_id: str | None = None,
    ) -> None:
        """Publish: append to the very state of `snapshots` that was read when the base was taken; see `head`.

        Raises:
            LakeConflictError: another writer published since; nothing was published here.
        """
        row: dict[str, object] = {
            "snapshot_id": snapshot_id or secrets.token_hex(8),
            "sequence": base.sequence + 1,
            "created_at": datetime.now(UTC),
            "base_snapshot_id": base.snapshot_id or None,
            "run_id": run_id,
            "operation": operation,
            "pins": [asdict(pin) for pin in pins.values()],
        }
        try:
            write_deltalake(book, SNAPSHOTS.rows([row]), mode="append", commit_properties=FENCED)
        except DeltaError as error:
            raise LakeConflictError(
                f"another writer published to lake={self.uri} meanwhile; this run published nothing ({error})",
                hint="run the command again",
            ) from error

    def _snapshot(self, row: dict[str, object]) -> Snapshot:
        pins = {pin["table"]: Pin(**pin) for pin in row["pins"]}  # type: ignore[attr-defined]
        fields = {name: value for name, value in row.items() if name != "pins"}
        return Snapshot(root=self.root, pins=pins, **fields)  # type: ignore[arg-type]


def _rows_of(book: DeltaTable) -> pa.Table:
    """The rows of the table of snapshots, oldest first."""
    table = pa.table(book.to_pyarrow_table()).select(SNAPSHOTS.schema.names)
    return table.cast(SNAPSHOTS.schema).sort_by("sequence")


def open_lake(uri: str, *, create: bool = False) -> Lake:
    """Open the lake at a local folder or file:// URI, creating it on request.

    Raises:
        NotFoundError: there is no lake there.
        UsageError: the URI names an unsupported store, or a folder that holds something else.
        LakeCorruptError: there are tables, and the snapshots that say which of their versions count are gone.
    """
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        raise UsageError(f"lake={uri!r}: only local folders and file:// URIs are supported", hint="--lake ./lake")
    root = Path(parts.path if parts.scheme else uri).expanduser().absolute()
    lake = Lake(root)
    if DeltaTable.is_deltatable(str(lake.table_path(SNAPSHOTS.name))):
        return lake
    if any(DeltaTable.is_deltatable(str(path)) for path in (root / "parquet").glob("*")):
        raise LakeCorruptError(
            f"lake={uri} has tables and no snapshots: parquet/snapshots is missing or its log is",
            hint="put parquet/snapshots back from a copy, or choose a new folder with --lake",
        )
    if not create:
        raise NotFoundError(f"lake={uri} does not exist", hint="memlake ingest SOURCE --corpus NAME creates it")
    known = {"parquet", "lance", "staged", "cache", "lock", "lock.guard"}
    if root.exists() and (not root.is_dir() or {entry.name for entry in root.iterdir()} - known):
        raise UsageError(f"lake={uri} is not a lake and not empty", hint="choose an empty or a new folder with --lake")
    for folder in ("parquet", "lance", "staged"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    lake.open_table(SNAPSHOTS)
    return lake
