"""memlake in Python, read only: open a lake, look at a snapshot, take a table, ask in SQL.

    import memlake

    lake = memlake.open("./lake")
    snapshot = memlake.at(lake, "latest")
    turns = memlake.table(lake, "turns", columns=["conversation_id", "text"])
    rows = memlake.sql(lake, "select corpus, count(*) as turns from turns group by corpus")

Tables are PyArrow tables. Writing is the command's work: `memlake ingest`, `memlake represent`, `memlake study run`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memlake.transforms.base.errors import MemlakeError, NotFoundError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from memlake.transforms.lake.storage.lake import Lake
    from memlake.transforms.lake.storage.snapshot import Snapshot

__all__ = ["MemlakeError", "NotFoundError", "UsageError", "at", "open", "sql", "table"]


def open(uri: str | None = None) -> "Lake":  # noqa: A001 - read as memlake.open
    """Open an existing lake; without a URI the one that memlake.toml or MEMLAKE_LAKE names, else ./lake.

    Raises:
        NotFoundError: there is none.
    """
    from memlake.flows.run.config import load
    from memlake.transforms.lake.storage.lake import open_lake

    return open_lake(load(lake=uri).values["lake"])


def at(lake: "Lake", snapshot: str = "latest") -> "Snapshot":
    """Resolve 'latest', a snapshot id or a tag; the result stays what it is whatever is published later.

    Raises:
        NotFoundError: there is no such snapshot.
    """
    return lake.snapshot(snapshot)


def table(lake: "Lake", name: str, *, columns: Sequence[str] | None = None, snapshot: str = "latest") -> "pa.Table":
    """Read a table of a snapshot, or some of its columns, in the declared schema.

    Raises:
        NotFoundError: there is no such snapshot, table or column.
    """
    from memlake.schemas import TABLES

    if name not in TABLES:
        raise NotFoundError(f"table={name!r} is unknown; tables: {', '.join(TABLES)}", hint="memlake tables ls")
    unknown = sorted(set(columns or ()) - set(TABLES[name].schema.names))
    if unknown:
        allowed = ", ".join(TABLES[name].schema.names)
        raise NotFoundError(f"column={unknown[0]!r} is not in table={name}; columns: {allowed}")
    import duckdb
    import pyarrow as pa

    from memlake.transforms.lake.query.connect import connect

    schema = TABLES[name].schema
    wanted = list(columns or schema.names)
    with connect(lake, snapshot) as connection:
        rows = connection.view(name).select(*map(duckdb.ColumnExpression, wanted)).to_arrow_table()
    return rows.cast(pa.schema([schema.field(column) for column in wanted]))


def sql(
    lake: "Lake", query: str, *, parameters: Mapping[str, str] | None = None, snapshot: str = "latest"
) -> "pa.Table":
    """Run one reading statement over a snapshot; `$name` in it takes its value from `parameters`.

    Raises:
        UsageError: it is not a single reading statement.
        MemlakeError: DuckDB refused it.
    """
    from memlake.transforms.lake.query.connect import connect
    from memlake.transforms.lake.query.statement import fetch

    with connect(lake, snapshot) as connection:
        return fetch(connection, query, parameters or {})
