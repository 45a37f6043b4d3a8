"""The contents of a lake, by value, for comparing two lakes that should hold the same."""

from pathlib import Path

from memlake.schemas import TABLES
from memlake.transforms.lake.commit.audit import verify
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake

RECORD = ("conversations", "turns", "units", "provenance", "links", "questions", "evidence", "parts", "representations")
_NOT_CONTENT = {"conversations": ("source_uri",)}


def digest(lake: str | Path, at: str = "latest") -> dict[str, tuple[int, int, int]]:
    """(rows, distinct keys, order-free hash of all rows) of each table and each Lance table, computed in SQL."""
    opened = open_lake(str(lake))
    found: dict[str, tuple[int, int, int]] = {}
    with connect(opened, at) as connection:
        for name in RECORD:
            columns = [c for c in TABLES[name].schema.names if c not in _NOT_CONTENT.get(name, ())]
            found[name] = _digest(connection, name, columns, TABLES[name].key)
        for name in opened.snapshot(at).lance_tables():
            columns = ["unit_id", "corpus", "conversation_id", "key_text", "vector"]
            found[name] = _digest(connection, name, columns, ("corpus", "unit_id"))
    return found


def _digest(connection, name, columns, key):
    quoted = ", ".join(f'"{column}"' for column in columns)
    keys = ", ".join(f'"{column}"' for column in key)
    row = connection.execute(
        f'select count(*), count(distinct ({keys},)), coalesce(bit_xor(hash({quoted})), 0) from "{name}"'
    ).fetchone()
    return tuple(int(value) for value in row)


def assert_sound(lake: str | Path) -> None:
    """No duplicate key in any table, and every audit passes on every conversation."""
    for name, (rows, keys, _) in digest(lake).items():
        assert rows == keys, f"{name}: {rows} rows, {keys} keys"
    assert [finding for finding in verify(open_lake(str(lake))) if finding.rows] == []
