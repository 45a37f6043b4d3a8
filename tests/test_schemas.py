import re

import duckdb
import pyarrow as pa
import pytest

from memlake import schemas
from memlake.schemas.table import Table
from memlake.schemas.vectors import vectors_schema

EVERY_TABLE = pytest.mark.parametrize("table", schemas.ALL, ids=lambda table: table.name)


@EVERY_TABLE
def test_a_table_says_what_one_row_is(table: Table):
    assert re.fullmatch(r"[a-z].*[^.]", table.grain), "completes 'one row is ...'"
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", table.name)
    assert table.version >= 1


@EVERY_TABLE
def test_a_key_is_made_of_columns_that_are_never_null(table: Table):
    assert table.key
    assert len(set(table.key)) == len(table.key)
    assert [name for name in table.key if table.schema.field(name).nullable] == []


@EVERY_TABLE
def test_every_column_is_described_once(table: Table):
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert [name for name in names if not table.descriptions[name].strip()] == []


@EVERY_TABLE
def test_no_column_needs_quotes_in_a_query(table: Table):
    refused = []
    for name in table.schema.names:
        try:
            duckdb.sql(f"select {name} from (select 1 as {name}) order by {name}").fetchall()
        except duckdb.ParserException:
            refused.append(name)
    assert refused == []


@EVERY_TABLE
def test_partition_columns_are_strings_of_the_key_and_leave_the_stored_schema(table: Table):
    assert set(table.partition_by) <= set(table.key), "a partition that is not in the key splits equal keys"
    assert {table.schema.field(name).type for name in table.partition_by} <= {pa.string()}
    assert set(table.schema.names) - set(table.stored_schema.names) == set(table.partition_by)


@EVERY_TABLE
def test_times_are_utc_microseconds(table: Table):
    times = [column.type for column in table.columns if pa.types.is_temporal(column.type)]
    assert all(kind == pa.timestamp("us", tz="UTC") for kind in times)


@EVERY_TABLE
def test_an_empty_table_has_the_schema(table: Table):
    assert table.empty().schema.equals(table.schema, check_metadata=True)


def test_corpus_stands_in_every_key_with_a_question_or_a_unit():
    lacking = [
        table.name
        for table in schemas.ALL
        if {"question_id", "unit_id", "conversation_id"} & set(table.key) and "corpus" not in table.key
    ]
    assert lacking == []


def test_tables_are_named_once_and_found_by_name():
    assert len(schemas.TABLES) == len(schemas.ALL)
    assert all(schemas.TABLES[table.name] is table for table in schemas.ALL)


def test_a_vector_schema_names_its_maker_and_declares_its_key():
    schema = vectors_schema(embedder="static", model="m", revision="r1", dimension=4, normalised=True)
    assert schema.field("vector").type == pa.list_(pa.float32(), 4)
    assert schema.metadata[b"memlake:revision"] == b"r1"
    assert schema.field("unit_id").metadata[b"lance-schema:unenforced-primary-key"] == b"true"
    assert all(field.metadata[b"description"] for field in schema)
