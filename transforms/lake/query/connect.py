"""DuckDB over a snapshot: every table a view of its own name, over exactly the snapshot's files, no extension."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from memlake.schemas import ALL
from memlake.schemas.metrics import METRICS, metric_comments
from memlake.schemas.table import Table
from memlake.transforms.base.sql import sql_files
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Snapshot

DEFAULT_MEMORY_LIMIT = "4GB"


def connect(
    lake: Lake,
    at: str | Snapshot = "latest",
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection on a snapshot: 'latest', an id, a tag, or what was resolved already.

    Args:
        threads: DuckDB's worker threads; default one a core.
        memory_limit: what DuckDB may hold before it spills, as DuckDB writes it ('4GB').
        temp_directory: where it spills; default a folder of the system's temporary folder.

    Raises:
        NotFoundError: there is no such snapshot.
    """
    snapshot = readable(lake, at) if isinstance(at, str) else at
    connection = bare_connection(threads=threads, memory_limit=memory_limit, temp_directory=temp_directory)
    for table, files in [(table, lake.files(table, snapshot)) for table in ALL]:
        create_view(connection, table, files)
        comment_on(connection, table)
    for name in snapshot.lance_tables():
        connection.register(name, snapshot.lance_table(name))
    add_analysis(connection)
    return connection


def add_analysis(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the macros and views of sql/ over the tables, and the type `metric_name` of question_scores' columns."""
    connection.execute(f"create type metric_name as enum ({', '.join(map(_text, METRICS))})")
    for folder in ("macros", "views"):
        for file in sql_files(folder):
            connection.execute(file.text)
    _comment_columns(connection, "question_scores", metric_comments())


def readable(lake: Lake, at: str = "latest") -> Snapshot:
    """The snapshot to read; before the first publish an empty one, since journals and books can be read by then.

    Raises:
        NotFoundError: there is no such snapshot.
    """
    return lake.latest() if at == "latest" else lake.snapshot(at)


def bare_connection(
    *, threads: int | None = None, memory_limit: str | None = None, temp_directory: str | None = None
) -> duckdb.DuckDBPyConnection:
    """Open an empty in-memory DuckDB with explicit settings, in UTC, that loads no extension."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": threads or os.cpu_count() or 1,
        "memory_limit": memory_limit or DEFAULT_MEMORY_LIMIT,
        "temp_directory": temp_directory or str(Path(tempfile.gettempdir()) / "memlake-duckdb"),
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(config=settings)
    connection.execute("set timezone = 'UTC'")
    return connection


def create_view(connection: duckdb.DuckDBPyConnection, table: Table, files: Sequence[Path]) -> None:
    """Create the view of one table over some files."""
    connection.execute(f"create view {_name(table.name)} as {_select(table, files)}")


def comment_on(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Put a table's descriptions on its view."""
    connection.execute(f"comment on view {_name(table.name)} is {_text(f'one row is {table.grain}')}")
    _comment_columns(connection, table.name, table.descriptions)


def _comment_columns(connection: duckdb.DuckDBPyConnection, view: str, comments: Mapping[str, str]) -> None:
    said = (f"comment on column {_name(view)}.{_name(name)} is {_text(text)}" for name, text in comments.items())
    connection.execute("; ".join(said))


def _select(table: Table, files: Sequence[Path]) -> str:
    columns = ", ".join(
        f"{_name(field.name)}::{_duckdb_type(field.type)} as {_name(field.name)}" for field in table.schema
    )
    if not files:
        return f"select {_nulls(table)} where false"
    listed = ", ".join(_text(_literal_glob(str(file))) for file in files)
    partitioning = ""
    if table.partition_by:
        types = ", ".join(f"{_name(name)}: varchar" for name in table.partition_by)
        partitioning = f", hive_partitioning = true, hive_types = {{{types}}}"
    if not table.has_later_columns:
        return f"select {columns} from read_parquet([{listed}]{partitioning})"  # noqa: S608 - names of ours, quoted paths
    stored = f"select * from read_parquet([{listed}]{partitioning}, union_by_name = true)"  # noqa: S608
    # What no file has comes from the empty side, as null.
    return f"select {columns} from (select {_nulls(table)} where false union all by name {stored})"  # noqa: S608


def _nulls(table: Table) -> str:
    return ", ".join(f"null::{_duckdb_type(field.type)} as {_name(field.name)}" for field in table.schema)


def _duckdb_type(kind: pa.DataType) -> str:
    """DuckDB's name of an Arrow type of our schemas."""
    if pa.types.is_list(kind):
        return f"{_duckdb_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return "struct(" + ", ".join(f"{_name(field.name)} {_duckdb_type(field.type)}" for field in kind) + ")"
    if pa.types.is_map(kind):
        return f"map({_duckdb_type(kind.key_type)}, {_duckdb_type(kind.item_type)})"
    if pa.types.is_timestamp(kind):
        return "timestamptz"
    names = {pa.string(): "varchar", pa.int64(): "bigint", pa.float64(): "double", pa.float32(): "float"}
    return "boolean" if pa.types.is_boolean(kind) else names[kind]


def _literal_glob(path: str) -> str:
    """A path whose glob characters mean themselves."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, **tables: pa.Table) -> Iterator[None]:
    """Register tables by name, and take the names back at the end."""
    for name, table in tables.items():
        connection.register(name, table)
    try:
        yield
    finally:
        for name in tables:
            connection.unregister(name)
