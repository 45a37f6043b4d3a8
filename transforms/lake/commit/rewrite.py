"""Take some conversations' rows out of Parquet files, by writing what is left anew."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import TABLES
from memlake.transforms.lake.storage.files import PartitionWriter, StagedFile
from memlake.transforms.lake.storage.place import open_parquet, read_parquet

_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Keys:
    """Rows of one table to take out: those whose values in `columns` are among `values`."""

    columns: tuple[str, ...]
    values: pa.Array
    partition: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(rows: pa.Table, columns: tuple[str, ...], partition: dict[str, str]) -> "Keys":
        """The keys in some columns of a table."""
        return Keys(columns, pc.unique(_joined(rows, columns)), tuple(partition.items()))

    def may_touch(self, file: StagedFile) -> bool:
        """Whether the log does not rule out that the file holds such rows."""
        if any(file.partition.get(name) != value for name, value in self.partition) or not len(self.values):
            return False
        if self.columns[0] != "conversation_id" or file.first_conversation is None:
            return True
        firsts = _firsts(self.values, len(self.columns))
        low, high = (pc.min_max(firsts)[end].as_py() for end in ("min", "max"))
        return bool(low <= (file.last_conversation or high) and high >= file.first_conversation)

    def hits(self, rows: pa.Table) -> pa.Array:
        """Which rows are meant."""
        return pc.is_in(_joined(rows, self.columns), value_set=self.values)


def count_hits(root: Path, files: Iterable[StagedFile], keys: list[Keys]) -> int:
    """How many rows of some files have one of the keys; a row that has several counts once."""
    total = 0
    for file in files:
        if touching := [key for key in keys if key.may_touch(file)]:
            columns = sorted({column for key in touching for column in key.columns})
            rows = read_parquet([_path(root, file)], columns=columns)
            total += pc.sum(_any_hit(touching, rows)).as_py() or 0
    return total


def without(root: Path, file: StagedFile, keys: list[Keys]) -> tuple[list[StagedFile], int]:
    """The files that hold a file's rows less the keyed ones, and how many rows went; ([file], 0) when untouched."""
    keys = [key for key in keys if key.may_touch(file)]
    if not keys or not count_hits(root, [file], keys):
        return [file], 0
    # One file stays one file: a conversation's rows are never spread over two.
    writer = PartitionWriter(root, TABLES[file.table], file.partition, file_bytes=sys.maxsize)
    gone = 0
    with open_parquet(_path(root, file)) as opened:
        for batch in opened.iter_batches():
            rows = pa.table(batch)
            left = rows.filter(pc.invert(_any_hit(keys, rows)))
            gone += rows.num_rows - left.num_rows
            writer.write(left)
    writer.close()
    return writer.done, gone


def _any_hit(keys: list[Keys], rows: pa.Table) -> pa.Array:
    hit = keys[0].hits(rows)
    for key in keys[1:]:
        hit = pc.or_(hit, key.hits(rows))
    return hit


def _path(root: Path, file: StagedFile) -> Path:
    return root / "parquet" / file.table / file.path


def _joined(rows: pa.Table, columns: tuple[str, ...]) -> pa.ChunkedArray:
    """One comparable value a row; conversation ids hold no unit separator (readers see to it)."""
    if len(columns) == 1:
        return rows[columns[0]]
    return pc.binary_join_element_wise(*(rows[name] for name in columns), _SEPARATOR)


def _firsts(values: pa.Array, columns: int) -> pa.Array:
    if columns == 1:
        return values
    return pc.list_element(pc.split_pattern(values, _SEPARATOR), 0)
