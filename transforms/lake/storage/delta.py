"""Commit files to a Delta table so that exactly the wanted ones are active, whatever a crashed writer left behind."""

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from memlake.schemas import TABLES
from memlake.schemas.table import Table
from memlake.transforms.base.errors import LakeConflictError
from memlake.transforms.lake.storage.files import StagedFile
from memlake.transforms.lake.storage.lake import FENCED, Lake
from memlake.transforms.lake.storage.snapshot import Pin, Snapshot


def active_files(table: str, opened: DeltaTable | None) -> dict[str, StagedFile]:
    """The files of a Delta version by path, with what its log knows of them."""
    if opened is None:
        return {}
    found: dict[str, StagedFile] = {}
    for action in pa.table(opened.get_add_actions(flatten=False)).to_pylist():
        low = (action.get("min") or {}).get("conversation_id")
        high = (action.get("max") or {}).get("conversation_id")
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
    present = active_files(table, head)
    adds = [_add(lake.table_path(table), file) for path, file in wanted.items() if path not in present]
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


def _add(location: Path, file: StagedFile) -> AddAction:
    stats: dict[str, object] = {"numRecords": file.rows}
    if file.first_conversation is not None:
        stats["minValues"] = {"conversation_id": file.first_conversation}
        stats["maxValues"] = {"conversation_id": file.last_conversation}
        stats["nullCount"] = {"conversation_id": 0}
    modified = int((location / file.path).stat().st_mtime * 1000)
    return AddAction(file.path, file.size, _values(file), modified, True, json.dumps(stats))


def _values(file: StagedFile) -> dict[str, str | None]:
    return dict(file.partition)
