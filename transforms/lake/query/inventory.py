"""What a lake holds: its tables, its snapshots, and what differs between two of them."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypedDict

import pyarrow.compute as pc

from memlake.schemas import ALL, TABLES
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.query.connect import connect, readable
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.place import row_count
from memlake.transforms.lake.storage.snapshot import Snapshot

Row = dict[str, Any]


class About(TypedDict):
    """A table described: what a row is, its key, its columns, and some of its rows."""

    table: str
    kind: str
    grain: str
    key: list[str]
    rows: int
    columns: list[Row]
    sample: list[Row]


class Difference(TypedDict):
    """Two snapshots compared: tables whose version differs, and parts by what happened to them."""

    old: str
    new: str
    tables: list[Row]
    parts: list[Row]


def tables_of(lake: Lake, at: str) -> list[Row]:
    """Every table at a snapshot, in the order of schemas, vectors last; journals and books as they are now."""
    snapshot = readable(lake, at)
    rows: list[Row] = []
    for table in ALL:
        pin = snapshot.pins.get(table.name)
        kind = "journal" if table.journal else "delta"
        count = _parquet_rows(lake.files(table, snapshot))
        rows.append(_row(table.name, kind, count, pin.version if pin else None, f"one row is {table.grain}"))
    for name in snapshot.lance_tables():
        stored = snapshot.lance_table(name)
        assert stored is not None
        rows.append(
            _row(name, "lance", stored.count_rows(), snapshot.pins[name].version, "one row is a unit and its vector")
        )
    return rows


def describe(lake: Lake, at: str, name: str, *, rows: int) -> About:
    """One table: what its rows and columns mean, how many rows it has, and up to `rows` of them.

    Raises:
        NotFoundError: the snapshot has no such table; says which are near.
    """
    snapshot = readable(lake, at)
    if name not in TABLES and name not in snapshot.lance_tables():
        names = [*TABLES, *snapshot.lance_tables()]
        nearest = ", ".join(get_close_matches(name, names, cutoff=0.4)) or ", ".join(names)
        raise NotFoundError(f"table={name!r} is unknown; nearest: {nearest}", hint="memlake tables ls")
    with connect(lake, snapshot) as connection:
        relation = connection.view(name)
        total = relation.aggregate("count(*)").fetchall()[0][0]
        sample = relation.limit(rows).to_arrow_table().to_pylist()
    if name in TABLES:
        table = TABLES[name]
        kind, grain, key, schema = "journal" if table.journal else "delta", table.grain, list(table.key), table.schema
    else:
        stored = snapshot.lance_table(name)
        assert stored is not None
        kind, grain, key, schema = "lance", "a unit and its vector", ["unit_id"], stored.schema
    columns: list[Row] = [
        {
            "column": field.name,
            "type": str(field.type),
            "null": field.nullable,
            "is": (field.metadata or {}).get(b"description", b"").decode(),
        }
        for field in schema
    ]
    return About(table=name, kind=kind, grain=grain, key=key, rows=total, columns=columns, sample=sample)


def snapshots_of(lake: Lake) -> list[Row]:
    """Every snapshot, oldest first, with its tags."""
    tags: dict[str, list[str]] = {}
    for tag, snapshot_id in lake.tags().items():
        tags.setdefault(snapshot_id, []).append(tag)
    rows = lake.snapshots().drop_columns(["pins"]).to_pylist()
    return [{**row, "tags": sorted(tags.get(row["snapshot_id"], []))} for row in rows]


def difference(lake: Lake, old: str, new: str) -> Difference:
    """Tables whose pinned version differs between two snapshots, and parts of conversations by what became of them."""
    before, after = lake.snapshot(old), lake.snapshot(new)
    names = [
        name for name in dict.fromkeys([*before.pins, *after.pins]) if before.pins.get(name) != after.pins.get(name)
    ]
    tables: list[Row] = [
        {"table": name, "rows_old": _rows(before, name), "rows_new": _rows(after, name)} for name in names
    ]
    return Difference(old=before.snapshot_id, new=after.snapshot_id, tables=tables, parts=_parts(before, after))


def _parts(before: Snapshot, after: Snapshot) -> list[Row]:
    """Parts added, changed and removed, counted by corpus and part."""
    keys = ["corpus", "conversation_id", "part"]
    old, new = (snapshot.read("parts", columns=[*keys, "content_hash"]) for snapshot in (before, after))
    both = old.join(new, keys=keys, join_type="full outer", left_suffix="_old", right_suffix="_new")
    was, is_now = both["content_hash_old"], both["content_hash_new"]
    change = pc.case_when(
        pc.make_struct(pc.is_null(was), pc.is_null(is_now), pc.equal(was, is_now)),
        "added",
        "removed",
        "same",
        "changed",
    )
    counted = both.append_column("change", change).filter(pc.not_equal(change, "same"))
    rows = counted.group_by(["corpus", "part", "change"]).aggregate([([], "count_all")])
    rows = rows.rename_columns({"count_all": "conversations"}).sort_by(
        [(name, "ascending") for name in rows.column_names[:3]]
    )
    return rows.to_pylist()


def _rows(snapshot: Snapshot, name: str) -> int:
    if name not in snapshot.pins:
        return 0
    stored = snapshot.lance_table(name) if snapshot.pins[name].is_lance else None
    return stored.count_rows() if stored is not None else _parquet_rows(snapshot.files(name))


def _parquet_rows(files: Sequence[Path]) -> int:
    """Rows of Parquet files by their footers, without reading them."""
    return sum(row_count(file) for file in files)


def _row(name: str, kind: str, rows: int, version: int | None, grain: str) -> Row:
    return {"table": name, "kind": kind, "rows": rows, "version": version, "is": grain}
