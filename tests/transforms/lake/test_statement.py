import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.sql import sql_file
from memlake.transforms.lake.query.statement import QueryError, fetch, find, no_rows, parameters, reports, write

QUERY = "select k, 'a' as name, [k, null] as list, k / 0.0 as gone from range(3) as numbers(k)"


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("create view turns as select 'hello' as text, 3 as ordinal")
    return connection


def test_parameters_are_bound_and_never_pasted(connection: duckdb.DuckDBPyConnection):
    hostile = "x' or 1=1 --"
    rows = fetch(connection, "select text from turns where text = $t", {"t": hostile})
    assert rows.num_rows == 0
    assert fetch(connection, "select $t as t", {"t": hostile}).to_pylist() == [{"t": hostile}]


def test_a_text_parameter_compares_with_a_number_column(connection: duckdb.DuckDBPyConnection):
    assert fetch(connection, "select * from turns where ordinal <= $k limit $n", {"k": "5", "n": "9"}).num_rows == 1


@pytest.mark.parametrize(
    "statement",
    [
        "create table t (a int)",
        "drop view turns",
        "copy turns to 'out.csv'",
        "attach 'other.db'",
        "select 1; select 2",
        "insert into turns values ('a', 1)",
        "set threads = 1",
        "-- nothing",
    ],
)
def test_only_one_reading_statement_is_allowed(connection: duckdb.DuckDBPyConnection, statement: str):
    with pytest.raises(UsageError, match="one reading statement is allowed"):
        fetch(connection, statement, {})


@pytest.mark.parametrize("statement", ["from turns", "describe turns", "explain from turns", "pivot turns on ordinal"])
def test_every_kind_of_reading_is_allowed(connection: duckdb.DuckDBPyConnection, statement: str):
    assert fetch(connection, statement, {}).num_rows


def test_missing_and_surplus_parameters_are_named(connection: duckdb.DuckDBPyConnection):
    with pytest.raises(UsageError, match="parameters are k, the values given are none") as caught:
        fetch(connection, "select $k", {})
    assert caught.value.hint == "--param k=VALUE"
    with pytest.raises(UsageError, match="parameters are none, the values given are z"):
        fetch(connection, "select 1", {"z": "1"})


def test_a_parameter_that_a_report_calls_optional_is_null_when_left_out(connection: duckdb.DuckDBPyConnection):
    report = (
        "-- What it is.\n-- param: k: optional, how many\n-- param: z: which\nselect coalesce($k, 'all') as k, $z as z"
    )
    assert fetch(connection, report, {"z": "1"}).to_pylist() == [{"k": "all", "z": "1"}]
    with pytest.raises(UsageError, match="parameters are k, z, the values given are k"):
        fetch(connection, report, {"k": "1"})


NAMED = "-- What.\n-- param: o: optional, which (turns.ordinal); any\n-- param: w: a word (turns.words)\nselect $o as o, $w as w"


def test_a_value_must_stand_in_the_column_that_the_report_names(connection: duckdb.DuckDBPyConnection):
    connection.execute("create or replace view turns as select 3 as ordinal, ['a', 'it''s'] as words")
    assert fetch(connection, NAMED, {"w": "a"}).num_rows == 1
    assert fetch(connection, NAMED, {"w": "it's", "o": "3"}).num_rows == 1
    with pytest.raises(NotFoundError, match=r"w=\"x' or 1=1 --\" is unknown: turns.words holds no such value"):
        fetch(connection, NAMED, {"w": "x' or 1=1 --"})
    with pytest.raises(NotFoundError, match=r"o='4' is unknown: turns\.ordinal") as caught:
        fetch(connection, NAMED, {"w": "a", "o": "4"})
    assert caught.value.hint == "memlake sql 'select distinct ordinal from turns'"


def test_every_report_says_what_no_rows_mean_and_a_file_without_a_word_gets_advice():
    for report in reports():
        assert "; memlake " in no_rows(sql_file("reports", report["report"]).text)
    assert "memlake tables ls" in no_rows("select 1")


def test_every_report_says_what_it_answers():
    assert reports()
    assert all(report["answers"] for report in reports())


def test_an_unknown_table_names_the_nearest_views(connection: duckdb.DuckDBPyConnection):
    with pytest.raises(QueryError, match="table='turnz' does not exist; nearest: turns"):
        fetch(connection, "select * from turnz", {})


@pytest.mark.parametrize("statement", ["selec 1", "select 'open", "select nope from turns", "select error('no\n\nno')"])
def test_duckdb_s_errors_become_one_line(connection: duckdb.DuckDBPyConnection, statement: str):
    with pytest.raises(QueryError) as caught:
        fetch(connection, statement, {})
    assert "\n" not in caught.value.message
    assert "^" not in caught.value.message


@pytest.mark.parametrize("pair", ["k", "=5", ""])
def test_a_parameter_without_name_or_value_is_refused(pair: str):
    with pytest.raises(UsageError, match="NAME=VALUE"):
        parameters([pair])


def test_a_parameter_s_value_may_hold_an_equals_sign():
    assert parameters(["a=b=c", "empty="]) == {"a": "b=c", "empty": ""}


def test_exactly_one_of_query_and_file_is_needed(tmp_path: Path):
    for query, file in ((None, None), ("select 1", "report")):
        with pytest.raises(UsageError, match="one of QUERY and --file"):
            find(query, file)
    report = tmp_path / "mine.sql"
    report.write_text("select 1")
    assert find(None, str(report)) == "select 1"
    with pytest.raises(NotFoundError):
        find(None, str(tmp_path / "missing.sql"))


def test_rows_are_written_in_the_format_that_the_suffix_names(connection: duckdb.DuckDBPyConnection, tmp_path: Path):
    for suffix in ("csv", "json", "parquet"):
        assert write(connection, QUERY, {}, tmp_path / f"out.{suffix}") == 3
    assert json.loads((tmp_path / "out.json").read_text())[1] == {"k": 1, "name": "a", "list": [1, None], "gone": None}
    assert pq.read_table(tmp_path / "out.parquet")["k"].to_pylist() == [0, 1, 2]
    assert (tmp_path / "out.csv").read_text().splitlines()[:2] == ['"k","name","list","gone"', '0,"a","[0, null]",nan']


def test_no_rows_are_an_empty_json_array(connection: duckdb.DuckDBPyConnection, tmp_path: Path):
    assert write(connection, "from turns where false", {}, tmp_path / "out.json") == 0
    assert json.loads((tmp_path / "out.json").read_text()) == []


def test_a_failed_query_leaves_the_old_file_and_nothing_else(connection: duckdb.DuckDBPyConnection, tmp_path: Path):
    out = tmp_path / "out.json"
    out.write_text("old")
    with pytest.raises(QueryError):
        write(connection, "select error('late') from range(3)", {}, out)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_an_unknown_suffix_is_refused_before_anything_runs(connection: duckdb.DuckDBPyConnection, tmp_path: Path):
    with pytest.raises(UsageError, match=r"suffix '\.xlsx' is unknown; allowed: \.csv, \.json, \.parquet"):
        write(connection, "select 1", {}, tmp_path / "out.xlsx")


@pytest.mark.parametrize("query", ["select 1 as a, 2 as a", "from turns as one join turns as two on true"])
def test_columns_of_one_name_are_refused_since_a_row_object_would_lose_one(connection, tmp_path, query):
    with pytest.raises(UsageError, match="several columns named"):
        fetch(connection, query, {})
    with pytest.raises(UsageError, match="several columns named"):
        write(connection, query, {}, tmp_path / "out.json")
