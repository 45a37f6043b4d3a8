"""Run one SQL statement that only reads: find it, bind its parameters, fetch its rows or write them to a file."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypedDict

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from memlake.transforms.base.errors import MemlakeError, NotFoundError, UsageError
from memlake.transforms.base.jsonable import jsonable
from memlake.transforms.base.out_file import check_out
from memlake.transforms.base.sql import sql_file, sql_files
from memlake.transforms.lake.storage.place import replacing

SUFFIXES = (".csv", ".json", ".parquet")
# MULTI is what the parser makes of PIVOT.
_READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI}
# The header of a report says which parameters may be left out; the report then sees null.
_OPTIONAL = re.compile(r"^-- param: (\w+): optional\b", re.MULTILINE)
# It may also say in which column a parameter's value must stand, and what to make of no rows.
_NAMED = re.compile(r"^-- param: (\w+): .*\((\w+)\.(\w+)\)", re.MULTILINE)
_NO_ROWS = re.compile(r"^-- no rows: (.+)$", re.MULTILINE)
_PURPOSE = re.compile(r"\A-- (.+(?:\n-- (?!grain:|reads:|param:).+)*)")
_UNKNOWN_TABLE = re.compile(r"Table with name (\S+) does not exist")


class Report(TypedDict):
    """A report that comes with memlake: its name, what it answers, and its parameters as its header declares them."""

    report: str
    answers: str
    parameters: list[str]


class QueryError(MemlakeError):
    """DuckDB refused a query, or it failed while it ran."""

    code = "query"


def find(query: str | None, file: str | None) -> str:
    """The text of the one query that was asked for: given, or from a file, a report, or standard input ('-').

    Raises:
        UsageError: neither or both of query and file were given, or the file is no UTF-8 text.
        NotFoundError: there is no such file or report.
    """
    if (query is None) == (file is None):
        given = "both were given" if query else "none was given"
        raise UsageError(
            f"one of QUERY and --file is allowed, {given}", hint="memlake sql 'select count(*) as turns from turns'"
        )
    if query is not None:
        return query
    assert file is not None
    if file == "-":
        return sys.stdin.read()
    if not Path(file).is_file():
        if Path(file).name != file:
            raise NotFoundError(f"file={file!r} does not exist", hint="give a path to a .sql file, or a report's name")
        return sql_file("reports", file.removesuffix(".sql")).text
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"file={file!r} is not UTF-8 text: {error}", hint="save it as UTF-8") from error


def reports() -> list[Report]:
    """The reports that come with memlake, by name."""
    found: list[Report] = []
    for file in sql_files("reports"):
        purpose = _PURPOSE.match(file.text)
        parameters = re.findall(r"^-- param: (.+)$", file.text, re.MULTILINE)
        text = purpose[1].replace("\n-- ", " ") if purpose else ""
        found.append(Report(report=file.name, answers=text, parameters=parameters))
    return found


def no_rows(query: str) -> str:
    """What it means that a query found nothing, and how to see what there is: as its header says, else in general."""
    said = _NO_ROWS.search(query)
    return f"no rows: {said[1] if said else 'memlake tables ls says how many rows each table holds'}"


def parameters(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE pairs as a mapping; DuckDB casts a text to the type it is compared with.

    Raises:
        UsageError: a pair has no '=' or an empty name, or a name comes twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in values:
            raise UsageError(
                f"param={pair!r} is not allowed: NAME=VALUE, each name once", hint="memlake sql ... --param k=5"
            )
        values[name] = value
    return values


def fetch(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, str]) -> pa.Table:
    """All rows of a query.

    Raises:
        UsageError: it is not one reading statement, or its parameters and the values given differ.
        NotFoundError: a value is not in the column that the query's header says it must stand in.
        QueryError: DuckDB refused it.
    """
    relation = _relation(connection, query, values)
    try:
        return relation.to_arrow_table()
    except duckdb.Error as error:
        raise _plain(connection, error) from error


def write(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, str], out: Path) -> int:
    """Write the rows of a query to a file, replacing it only when the new one is whole; the number of rows.

    Args:
        out: with one of SUFFIXES, in a folder that exists; nothing runs for another.

    Raises:
        UsageError, NotFoundError, QueryError: as `fetch`.
    """
    check_out(out, SUFFIXES, example="rows.parquet")
    relation = _relation(connection, query, values)
    try:
        with replacing(out) as fresh:
            return _write_batches(relation, fresh, out.suffix)
    except duckdb.Error as error:
        raise _plain(connection, error) from error


def _relation(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, str]) -> duckdb.DuckDBPyRelation:
    """The query as a relation, once it is known to be a single reading statement."""
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type not in _READING:
            kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
            raise UsageError(f"one reading statement is allowed, this is {kinds}", hint="a lake is read-only in SQL")
        wanted = statements[0].named_parameters
        bound = {name: None for name in _OPTIONAL.findall(query) if name in wanted} | dict(values)
        if wanted != bound.keys():
            raise UsageError(
                f"the query's parameters are {', '.join(sorted(wanted)) or 'none'}, "
                f"the values given are {', '.join(values) or 'none'}",
                hint=" ".join(f"--param {name}=VALUE" for name in sorted(wanted)),
            )
        for name, table, column in _NAMED.findall(query):
            if bound.get(name) is not None:
                _check_named(connection, name, bound[name], table, column)
        relation = connection.sql(query, params=bound)
    except duckdb.Error as error:
        raise _plain(connection, error) from error
    names = relation.columns
    if twice := sorted({name for name in names if names.count(name) > 1}):
        # A row object, and a file's schema, can hold only one of them.
        raise UsageError(
            f"the query has several columns named {', '.join(twice)}",
            hint="give each its own name: select a.x as a_x, b.x",
        )
    return relation


def _check_named(connection: duckdb.DuckDBPyConnection, name: str, value: str | None, table: str, column: str) -> None:
    """Raise NotFoundError when a value is in no row of a column, nor in any list of a column of lists."""
    stored, wanted = duckdb.ColumnExpression(column), duckdb.ConstantExpression(value)
    rows = connection.view(table).select(stored)
    is_list = rows.types[0].id == "list"
    found = duckdb.FunctionExpression("list_contains", stored, wanted) if is_list else stored == wanted
    if not rows.filter(found).limit(1).fetchall():
        raise NotFoundError(
            f"{name}={value!r} is unknown: {table}.{column} holds no such value in this snapshot",
            hint=f"memlake sql 'select distinct {column} from {table}'",  # noqa: S608 - advice for people
        )


def _write_batches(relation: duckdb.DuckDBPyRelation, out: Path, suffix: str) -> int:
    """Write a relation batch by batch in the format that the suffix names."""
    reader = relation.to_arrow_reader(65_536)
    rows = 0
    if suffix == ".json":
        with out.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for batch in reader:
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    text = json.dumps(jsonable(row), ensure_ascii=False, allow_nan=False)
                    file.write(f"{',' if rows else '['}\n{text}")
                    rows += 1
            file.write("\n]\n" if rows else "[]\n")
        return rows
    with _opened(out, suffix, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(_flat(batch) if suffix == ".csv" else batch)
            rows += batch.num_rows
    return rows


def _opened(out: Path, suffix: str, schema: pa.Schema) -> pacsv.CSVWriter | pq.ParquetWriter:
    if suffix == ".parquet":
        return pq.ParquetWriter(out, schema, compression="zstd")
    return pacsv.CSVWriter(out, _flat(pa.RecordBatch.from_pylist([], schema)).schema)


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with nested values as JSON text, since a CSV cell is flat."""
    columns = [
        pa.array(
            [
                None if value is None else json.dumps(jsonable(value), ensure_ascii=False)
                for value in column.to_pylist(maps_as_pydicts="lossy")
            ],
            pa.string(),
        )
        if pa.types.is_nested(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain(connection: duckdb.DuckDBPyConnection, error: duckdb.Error) -> QueryError:
    """DuckDB's message without the drawing under it, and the views that an unknown table may have meant."""
    message = str(error).split("\n\nLINE ")[0].replace("\n", " ")
    unknown = _UNKNOWN_TABLE.search(message)
    if unknown is None:
        return QueryError(message, hint="memlake tables show TABLE lists columns")
    views = [name for (name,) in connection.sql("select view_name from duckdb_views() where not internal").fetchall()]
    near = get_close_matches(unknown[1], views, n=3, cutoff=0.5)
    nearest = f"nearest: {', '.join(near)}" if near else f"tables: {', '.join(sorted(views))}"
    return QueryError(f"table={unknown[1]!r} does not exist; {nearest}", hint="memlake tables ls")
