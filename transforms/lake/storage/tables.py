"""Tables of both kinds, Delta and Lance: commit files so that exactly the wanted ones are active, or take rows out of files.

What a crashed writer left behind is never active. Delta takes one transaction a commit; Lance one version, on top of
exactly the version that the base pins. Files of which rows are taken out are written anew.
"""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction
from lance import FragmentMetadata, LanceOperation
from lance.file import LanceFileReader

from memlake.schemas import TABLES
from memlake.schemas.table import Table
from memlake.transforms.base.errors import LakeConflictError
from memlake.transforms.lake.storage.files import (
    PartitionWriter,
    StagedFile,
    StagedFragment,
    lance_exists,
    lance_path,
    open_lance,
    stage_fragments,
)
from memlake.transforms.lake.storage.lake import FENCED, Lake
from memlake.transforms.lake.storage.place import open_parquet, read_parquet
from memlake.transforms.lake.storage.snapshot import Pin, Snapshot
from memlake.transforms.lake.storage.statistics import are_complete, statistics_of


def active_files(table: str, opened: DeltaTable | None) -> dict[str, StagedFile]:
    """The files of a Delta version by path, with what its log knows of them."""
    return {} if opened is None else _files(table, _logged(opened))


def _logged(opened: DeltaTable) -> list[dict[str, Any]]:
    """What the log says of each active file."""
    actions: list[dict[str, Any]] = pa.table(opened.get_add_actions(flatten=False)).to_pylist()
    return actions


def _files(table: str, logged: Iterable[Mapping[str, Any]]) -> dict[str, StagedFile]:
    found: dict[str, StagedFile] = {}
    for action in logged:
        low, high = ((action.get(end) or {}).get("conversation_id") for end in ("min", "max"))
        partition = dict(action.get("partition") or {})
        path, size = action["path"], action["size_bytes"]
        found[path] = StagedFile(table, path, size, action["num_records"], partition, low, high)
    return found


def commit_table(lake: Lake, base: Snapshot, table: str, *, remove: Iterable[str], add: Iterable[StagedFile]) -> Pin:
    """Commit one transaction after which exactly base - remove + add is active; return the pin of that version.

    The head may lie beyond the base: a crashed writer committed and never published. Its files are removed, and the
    base's that it removed are added again, in the same transaction, so nothing needs to be put back beforehand.

    Raises:
        LakeConflictError: another writer committed to the table meanwhile.
    """
    declared = TABLES[table]
    head = lake.open_table(declared)
    wanted = active_files(table, base.delta(table))
    for path in remove:
        wanted.pop(path, None)
    wanted.update({file.path: file for file in add})
    logged = _logged(head)
    present = _files(table, logged)
    # What an earlier version committed without some columns' statistics is described anew.
    described = {action["path"] for action in logged if are_complete(declared.stored_schema, action)}
    adds = [_add(lake.root, file) for path, file in wanted.items() if path not in described]
    now = int(time.time() * 1000)
    removes = [
        RemoveAction(path, True, now, size=file.size, partition_values=_values(file))
        for path, file in present.items()
        if path not in wanted
    ]
    version = head.version()
    if adds or removes:
        try:
            _add_later_columns(head, declared)
            version = head.version() + 1
            head.create_write_transaction(
                [*adds, *removes],
                mode="append",
                schema=declared.schema,
                partition_by=list(declared.partition_by) or None,
                commit_properties=FENCED,
            )
        except DeltaError as error:
            raise LakeConflictError(
                f"table={table} of lake={lake.uri} was committed to by another writer: {error}",
                hint="run the command again",
            ) from error
    return Pin(table, f"parquet/{table}", version)


def _add_later_columns(head: DeltaTable, declared: Table) -> None:
    """Declare columns that the table was made without, for whoever reads it as Delta; no file changes by that."""
    held = {field.name for field in head.schema().fields}
    missing = [field for field in declared.schema if field.name not in held]
    if missing:
        fields = Schema.from_arrow(pa.schema(missing)).fields
        head.alter.add_columns(fields, commit_properties=FENCED)


def _add(root: Path, file: StagedFile) -> AddAction:
    path = file.path_in(root)
    modified = int(path.stat().st_mtime * 1000)
    return AddAction(file.path, file.size, _values(file), modified, True, statistics_of(path))


def _values(file: StagedFile) -> dict[str, str | None]:
    return dict(file.partition)


# A row address is the fragment id in the upper half and the offset in the lower.
_OFFSET = 0xFFFF_FFFF


def commit_fragments(
    lake: Lake,
    base: Snapshot,
    table: str,
    *,
    drop: Mapping[int, Sequence[int]],
    add: Sequence[StagedFragment],
    anew: bool = False,
) -> Pin:
    """Commit one version: the base's fragments less the dropped row offsets, plus the new fragments.

    Args:
        drop: physical row offsets to delete, by fragment id of the base's version.
        add: fragments staged by workers; their schema makes the table when it is new.
        anew: leave none of the base's rows, and take the schema of the new fragments: another model made them.

    Raises:
        LakeConflictError: another writer committed to the table meanwhile (Lance would rebase silently).
    """
    uri = str(lance_path(lake.root, table))
    fragments = [FragmentMetadata.from_json(part.fragment) for part in add]
    pin = base.pins.get(table)
    if pin is None or anew:
        if not fragments:
            raise ValueError(f"vectors={table}: nothing to create the table from")
        schema = add[0].arrow_schema()
        read = open_lance(lake.root, table).version if lance_exists(lake.root, table) else 0
        # Overwrite: what a crashed writer committed before anything was published, or another model made, is not wanted.
        made = lance.LanceDataset.commit(
            uri, LanceOperation.Overwrite(schema, fragments), read_version=read, max_retries=0
        )
        return _pin(table, made, read)
    head = open_lance(lake.root, table)
    if head.version != pin.version:
        behind = head.version
        head = head.checkout_version(pin.version)
        head.restore()  # type: ignore[no-untyped-call]
        head = open_lance(lake.root, table)
        _check(table, head, behind)
    updated, removed = [], []
    for fragment in head.get_fragments():
        offsets = drop.get(fragment.fragment_id, ())
        if not len(offsets):
            continue
        left = fragment.delete_rows(offsets)
        if left is None:
            removed.append(fragment.fragment_id)
        else:
            updated.append(left)
    operation = LanceOperation.Update(removed_fragment_ids=removed, updated_fragments=updated, new_fragments=fragments)
    made = lance.LanceDataset.commit(uri, operation, read_version=head.version, max_retries=0)
    return _pin(table, made, head.version)


def tag_version(lake: Lake, pin: Pin, snapshot_id: str) -> None:
    """Tag a pinned version with the snapshot's id, so that no clean-up takes it."""
    dataset = open_lance(lake.root, pin.table)
    if snapshot_id not in dataset.tags.list():
        dataset.tags.create(snapshot_id, pin.version)


def rows_of(dataset: lance.LanceDataset, corpus: str, conversations: pa.Array) -> dict[int, list[int]]:
    """Physical row offsets, by fragment id, of the rows of some conversations; no id ever enters a filter text."""
    found: dict[int, list[int]] = {}
    for fragment in dataset.get_fragments():
        scanned = fragment.scanner(columns=["corpus", "conversation_id"], with_row_address=True).to_table()
        hit = pc.and_(
            pc.equal(scanned["corpus"], corpus), pc.is_in(scanned["conversation_id"], value_set=conversations)
        )
        addresses = scanned["_rowaddr"].filter(hit).to_numpy()
        if len(addresses):
            found[fragment.fragment_id] = [int(address) & _OFFSET for address in addresses]
    return found


def without_rows(
    lake: Lake, fragments: Sequence[StagedFragment], conversations: pa.Array
) -> tuple[list[StagedFragment], int]:
    """Stage fragments again without some conversations' rows; untouched ones stay. Also says how many rows went."""
    if not len(conversations):
        return list(fragments), 0
    kept: list[StagedFragment] = []
    gone = 0
    for part in fragments:
        tables = [LanceFileReader(str(file)).read_all().to_table() for file in part.sizes_in(lake.root)]
        rows = pa.concat_tables(tables)
        left = rows.filter(pc.invert(pc.is_in(rows["conversation_id"], value_set=conversations)))
        if left.num_rows == rows.num_rows:
            kept.append(part)
            continue
        gone += rows.num_rows - left.num_rows
        if left.num_rows:
            kept.extend(stage_fragments(lake.root, part.table, left.cast(part.arrow_schema())))
    return kept, gone


def _pin(table: str, made: lance.LanceDataset, read: int) -> Pin:
    _check(table, made, read)
    return Pin(table, f"lance/{table}.lance", made.version)


def _check(table: str, made: lance.LanceDataset, read: int) -> None:
    if made.version != read + 1:
        raise LakeConflictError(
            f"vectors={table} was committed to by another writer: version={made.version}, expected {read + 1}",
            hint="run the command again",
        )


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
        if self.columns[0] != "conversation_id":
            return True
        bounds = pc.min_max(_firsts(self.values, len(self.columns)))
        return file.may_hold(bounds["min"].as_py(), bounds["max"].as_py())

    def hits(self, rows: pa.Table) -> pa.Array:
        """Which rows are meant."""
        return pc.is_in(_joined(rows, self.columns), value_set=self.values)


def count_hits(root: Path, files: Iterable[StagedFile], keys: list[Keys]) -> int:
    """How many rows of some files have one of the keys; a row that has several counts once."""
    total = 0
    for file in files:
        if touching := [key for key in keys if key.may_touch(file)]:
            columns = sorted({column for key in touching for column in key.columns})
            rows = read_parquet([file.path_in(root)], columns=columns)
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
    with open_parquet(file.path_in(root)) as opened:
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


def _joined(rows: pa.Table, columns: tuple[str, ...]) -> pa.ChunkedArray:
    """One comparable value a row; conversation ids hold no unit separator (readers see to it)."""
    if len(columns) == 1:
        return rows[columns[0]]
    return pc.binary_join_element_wise(*(rows[name] for name in columns), _SEPARATOR)


def _firsts(values: pa.Array, columns: int) -> pa.Array:
    if columns == 1:
        return values
    return pc.list_element(pc.split_pattern(values, _SEPARATOR), 0)
