"""Stage files: Parquet and Lance data that nothing refers to yet. Workers write; only the committer commits."""

import json
import secrets
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from lance.fragment import write_fragments

from memlake.schemas.table import Table
from memlake.schemas.vectors import made_by
from memlake.transforms.lake.storage.snapshot import hive_folder
from memlake.transforms.lake.storage.statistics import NULLS_OF_TEXTS

# Rows gather until a row group is worth writing, files until they are worth opening (specs: 64-256 MB a file).
ROW_GROUP_BYTES = 16 << 20
ROW_GROUP_ROWS = 122_880
FILE_BYTES = 128 << 20
FRAGMENT_BYTES = 32 << 20
# Long texts: statistics on them cost space, leak text into logs, and prune nothing.
_TEXT_COLUMNS = frozenset({"text", "key_text", "show_text", "attributes", "answer", "error", "description", "reply"})


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A Parquet file of one partition of a table, `path` relative to the table's folder."""

    table: str
    path: str
    size: int
    rows: int
    partition: dict[str, str]
    first_conversation: str | None
    last_conversation: str | None

    def path_in(self, root: Path) -> Path:
        """Where it lies in a lake."""
        return root / "parquet" / self.table / self.path

    def may_hold(self, low: str, high: str) -> bool:
        """Whether what is known of it does not rule out that it holds a conversation from `low` to `high`."""
        if self.first_conversation is None or self.last_conversation is None:
            return True
        return self.first_conversation <= high and self.last_conversation >= low


@dataclass(frozen=True, slots=True)
class StagedFragment:
    """A Lance fragment, its metadata as JSON; `schema` is the table's, as serialised Arrow bytes in hexadecimal."""

    table: str
    fragment: str
    rows: int
    schema: str

    def arrow_schema(self) -> pa.Schema:
        """The table's schema."""
        return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self.schema)))

    def sizes_in(self, root: Path) -> dict[Path, int]:
        """Where its data lies in a lake: each file with its bytes."""
        data = lance_path(root, self.table) / "data"
        return {data / file["path"]: file["file_size_bytes"] for file in json.loads(self.fragment)["files"]}


@dataclass(slots=True)
class PartitionWriter:
    """Write one partition of one table into Parquet files with random names, in few large row groups."""

    root: Path
    table: Table
    partition: dict[str, str]
    file_bytes: int = FILE_BYTES
    done: list[StagedFile] = field(default_factory=list)
    _held: list[pa.Table] = field(default_factory=list)
    _held_bytes: int = 0
    _writer: pq.ParquetWriter | None = None
    _path: str = ""
    _rows: int = 0
    _ids: list[str] = field(default_factory=list)
    _nulls: Counter[str] = field(default_factory=Counter)
    _writing: "Future[None] | None" = None

    def write(self, rows: pa.Table) -> None:
        """Add rows that are all of this partition."""
        if rows.num_rows == 0:
            return
        for column in self.table.stored_schema:
            # Rows of a file of before a column came, which are written again.
            if column.name not in rows.column_names and b"later" in (column.metadata or {}):
                rows = rows.append_column(column, pa.nulls(rows.num_rows, column.type))
        self._held.append(rows.select(self.table.stored_schema.names))
        self._held_bytes += rows.nbytes
        if self._held_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Finish the open file."""
        if self._held:
            self._flush()
        self._wait()
        self._finish_file()

    def _finish_file(self) -> None:
        if self._writer is None:
            return
        self._writer.add_key_value_metadata({NULLS_OF_TEXTS: json.dumps(self._nulls)})
        self._writer.close()
        low, high = min(self._ids, default=None), max(self._ids, default=None)
        size = (self.root / "parquet" / self.table.name / self._path).stat().st_size
        self.done.append(StagedFile(self.table.name, self._path, size, self._rows, self.partition, low, high))
        self._writer, self._rows, self._ids, self._nulls = None, 0, [], Counter()

    def _flush(self) -> None:
        """Hand what is held to the encoder; the caller reads on while Arrow, without the GIL, encodes."""
        rows = pa.concat_tables(self._held).cast(self.table.stored_schema)
        self._held, self._held_bytes = [], 0
        self._wait()
        self._writing = encoder().submit(self._encode, rows)

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _encode(self, rows: pa.Table) -> None:
        if self._writer is None:
            folder = hive_folder(self.table, self.partition)
            name = f"{secrets.token_hex(16)}.parquet"
            self._path = f"{folder}/{name}" if folder else name
            path = self.root / "parquet" / self.table.name / self._path
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = parquet_writer(path, self.table.stored_schema)
        self._writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)
        self._rows += rows.num_rows
        self._nulls.update({name: rows[name].null_count for name in _TEXT_COLUMNS.intersection(rows.column_names)})
        if "conversation_id" in rows.column_names:
            bounds = pc.min_max(rows["conversation_id"])
            self._ids += [bounds["min"].as_py(), bounds["max"].as_py()]
        if (self.root / "parquet" / self.table.name / self._path).stat().st_size >= self.file_bytes:
            self._finish_file()


@dataclass(slots=True)
class FragmentWriter:
    """Write rows of one Lance table as uncommitted fragments."""

    root: Path
    table: str
    done: list[StagedFragment] = field(default_factory=list)
    _held: list[pa.Table] = field(default_factory=list)
    _held_bytes: int = 0

    def write(self, rows: pa.Table) -> None:
        """Add rows in the table's Lance schema."""
        if rows.num_rows:
            self._held.append(rows)
            self._held_bytes += rows.nbytes
            if self._held_bytes >= FRAGMENT_BYTES:
                self.close()

    def close(self) -> None:
        """Write what is held as fragments."""
        if not self._held:
            return
        rows = pa.concat_tables(self._held)
        self._held, self._held_bytes = [], 0
        self.done.extend(stage_fragments(self.root, self.table, rows))


def stage_fragments(root: Path, table: str, rows: pa.Table) -> list[StagedFragment]:
    """Write rows as fragments of a Lance table that may not exist yet."""
    uri = str(lance_path(root, table))
    mode = "create"
    if lance_exists(root, table):
        # Vectors of another model may have another dimension, which an append would refuse.
        mode = "append" if made_by(open_lance(root, table).schema) == made_by(rows.schema) else "overwrite"
    try:
        written = write_fragments(rows, uri, schema=rows.schema, mode=mode)
    except (ValueError, OSError):
        if mode != "create" or not lance_exists(root, table):
            raise
        written = write_fragments(rows, uri, schema=rows.schema, mode="append")  # created in between
    schema = rows.schema.serialize().to_pybytes().hex()
    return [StagedFragment(table, json.dumps(part.to_json()), part.num_rows, schema) for part in written]


@cache
def encoder() -> ThreadPoolExecutor:
    """The process's one encoding thread; one row group at a time, so that memory stays flat."""
    return ThreadPoolExecutor(1, thread_name_prefix="lake-encoder")


def lance_path(root: Path, table: str) -> Path:
    """Where a Lance table lies."""
    return root / "lance" / f"{table}.lance"


def lance_exists(root: Path, table: str) -> bool:
    """Whether a Lance table has been committed at least once."""
    # A writer killed in its first commit leaves the folder without a version in it.
    return any((lance_path(root, table) / "_versions").glob("*.manifest"))


def open_lance(root: Path, table: str) -> lance.LanceDataset:
    """The head of a Lance table."""
    return lance.dataset(str(lance_path(root, table)))


def parquet_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A Parquet writer as every file of the lake is written: zstd, dictionaries for ids, no statistics on texts."""
    plain = [name for name in schema.names if name not in _TEXT_COLUMNS]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name in plain if pa.types.is_string(schema.field(name).type) and name != "unit_id"],
        write_statistics=[name for name in plain if not pa.types.is_nested(schema.field(name).type)],
        write_page_index=True,
        store_schema=True,
    )


def split_partitions(table: Table, rows: pa.Table) -> list[tuple[dict[str, str], pa.Table]]:
    """Cut rows by partition values; one scan when, as usual, a batch has one value."""
    parts: list[tuple[dict[str, str], pa.Table]] = [({}, rows)]
    for name in table.partition_by:
        cut: list[tuple[dict[str, str], pa.Table]] = []
        for values, piece in parts:
            found = pc.unique(piece[name]).to_pylist()
            if len(found) == 1:
                cut.append(({**values, name: found[0]}, piece))
                continue
            cut.extend(({**values, name: value}, piece.filter(pc.equal(piece[name], value))) for value in found)
        parts = cut
    return parts


def stage_rows(root: Path, table: Table, rows: pa.Table) -> list[StagedFile]:
    """Stage rows of a Delta table that are all there is of it."""
    stager = Stager(root)
    stager.write(table, rows)
    return stager.close()[0]


@dataclass(slots=True)
class Stager:
    """Write batches of many tables, one writer a partition; `close` returns what was written."""

    root: Path
    _parquet: dict[tuple[str, ...], PartitionWriter] = field(default_factory=dict)
    _lance: dict[str, FragmentWriter] = field(default_factory=dict)

    def write(self, table: Table, rows: pa.Table) -> None:
        """Stage rows of a Delta table."""
        if rows.num_rows == 0:
            return
        for partition, piece in split_partitions(table, rows):
            key = (table.name, *partition.values())
            if key not in self._parquet:
                self._parquet[key] = PartitionWriter(self.root, table, partition)
            self._parquet[key].write(piece)

    def write_vectors(self, tables: Mapping[str, pa.Table]) -> None:
        """Stage rows of Lance tables."""
        for name, rows in tables.items():
            self._lance.setdefault(name, FragmentWriter(self.root, name)).write(rows)

    def close(self) -> tuple[list[StagedFile], list[StagedFragment]]:
        """Finish every open file."""
        for partition in self._parquet.values():
            partition.close()
        for table in self._lance.values():
            table.close()
        files = [file for writer in self._parquet.values() for file in writer.done]
        fragments = [fragment for writer in self._lance.values() for fragment in writer.done]
        return files, fragments
