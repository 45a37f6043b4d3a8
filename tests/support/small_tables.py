"""Rows written down briefly, and a DuckDB connection that has every table, macro and view."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from memlake.schemas import ALL, TABLES
from memlake.schemas.table import Table
from memlake.transforms.lake.query.connect import add_analysis
from memlake.transforms.lake.storage.parts import part_names

CONVERSATION = {"corpus": "c", "conversation_id": "v"}


def rows_of(table: Table, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows of a table's schema; what a row leaves out is null where it may be, else empty, zero or false."""
    blank = {field.name: None if field.nullable else _blank(field.type) for field in table.columns}
    known = {name: value for name, value in CONVERSATION.items() if name in blank}
    return table.rows([blank | known | row for row in rows])


def connection_of(**tables: pa.Table) -> duckdb.DuckDBPyConnection:
    """A connection with these tables, every other one empty, and everything of sql/macros and sql/views."""
    connection = duckdb.connect(config={"threads": 1})
    for table in ALL:
        connection.register(table.name, tables.get(table.name, table.empty()))
    for name in tables.keys() - TABLES.keys():
        connection.register(name, tables[name])
    connection.register("part_names", part_names(connection.table("parts").to_arrow_table()["part"]))
    add_analysis(connection)
    return connection


def _blank(kind: pa.DataType) -> object:
    if pa.types.is_string(kind):
        return ""
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_list(kind):
        return []
    return 0
