"""Commit fragments to a Lance table in one version, on top of exactly the version that the base pins."""

import json
from collections.abc import Mapping, Sequence

import lance
import pyarrow as pa
import pyarrow.compute as pc
from lance import FragmentMetadata, LanceOperation
from lance.file import LanceFileReader

from memlake.transforms.base.errors import LakeConflictError
from memlake.transforms.lake.storage.files import StagedFragment, lance_exists, lance_path, open_lance, stage_fragments
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Pin, Snapshot

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
    kept: list[StagedFragment] = []
    gone = 0
    for part in fragments:
        data = lance_path(lake.root, part.table) / "data"
        tables = [LanceFileReader(str(data / name)).read_all().to_table() for name in fragment_files(part)]
        rows = pa.concat_tables(tables)
        left = rows.filter(pc.invert(pc.is_in(rows["conversation_id"], value_set=conversations)))
        if left.num_rows == rows.num_rows:
            kept.append(part)
            continue
        gone += rows.num_rows - left.num_rows
        if left.num_rows:
            kept.extend(stage_fragments(lake.root, part.table, left.cast(part.arrow_schema())))
    return kept, gone


def fragment_files(fragment: StagedFragment) -> list[str]:
    """Names of the data files of a staged fragment."""
    return [file["path"] for file in json.loads(fragment.fragment)["files"]]


def _pin(table: str, made: lance.LanceDataset, read: int) -> Pin:
    _check(table, made, read)
    return Pin(table, f"lance/{table}.lance", made.version)


def _check(table: str, made: lance.LanceDataset, read: int) -> None:
    if made.version != read + 1:
        raise LakeConflictError(
            f"vectors={table} was committed to by another writer: version={made.version}, expected {read + 1}",
            hint="run the command again",
        )
