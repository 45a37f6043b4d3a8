"""A lake that the stored one's sources and commands make today: the same rows, and other readers of Delta find them too."""

import shutil
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import stored_lakes as stored
from deltalake import DeltaTable, QueryBuilder

import memlake
from memlake.schemas import ALL

GOLDEN = stored.golden()
COLUMNS = {
    name.partition(" ")[2]: kept["columns"]
    for name, kept in GOLDEN["tables"].items()
    if name.partition(" ")[0] == GOLDEN["latest"]
}
# Rebuilt from the sources, these may say another file and another version of the code.
_NOT_REBUILT = {"conversations": ("source_uri",), "representations": ("code_version",)}
_REBUILT = (
    "conversations", "turns", "questions", "evidence", "representations", "units", "provenance", "links", "extractions",
    "parts", "chunks__static", "my-notes__static", "their-notes__static", "observations__static",
    "event_summaries__static", "session_summaries__static", "turns__static", "artifacts__static",
    "turns__openai-lab-embedder", "my-notes__openai-lab-embedder",
)  # fmt: skip


@pytest.fixture(scope="module")
def anew(place, tmp_path_factory) -> Path:
    """The lake that the commands make of the sources, from the stored replies of models."""
    here = tmp_path_factory.mktemp("anew")
    shutil.copytree(stored.SOURCES, here / "sources")
    shutil.copytree(place / "lake" / "cache", here / "lake" / "cache")
    ended = stored.commands(*map(stored.offline, stored.STEPS.values()), at=here)
    assert [ran.code for ran in ended] == [0] * len(ended), ended
    return here / "lake"


@pytest.fixture(scope="module")
def studied(tmp_path_factory) -> Path:
    """The stored lake after its study ran again: files of then and of now in one table."""
    here = stored.unpack(tmp_path_factory.mktemp("studied"))
    assert stored.command(*stored.offline(stored.STUDY), at=here).code == 0
    return here / "lake"


def test_a_lake_made_anew_from_the_sources_holds_the_same_rows_ids_and_vectors(lake, anew):
    rebuilt = memlake.open(str(anew))
    queries = {table: _rows_to_rebuild(table) for table in _REBUILT}
    before, after = (stored.lines_of(opened, queries, near=True) for opened in (lake, rebuilt))
    assert all(before.values())
    for table in _REBUILT:
        assert after[table] == before[table], table


def _rows_to_rebuild(table: str) -> str:
    """All of a table but what was forgotten, what a model that is gone made, and where and with which version it was made."""
    names = COLUMNS[table]
    columns = stored.listed([name for name in names if name not in _NOT_REBUILT.get(table, ())])
    known = f"conversation_id != '{stored.FORGOTTEN}'" if "conversation_id" in names else "true"
    made = f"part != 'vectors:{stored.VECTORS_NOT_KEPT}'" if table == "parts" else "true"
    return f'select {columns} from "{table}" where {known} and {made}'


def _filters(rows: pa.Table) -> list[tuple[str, str, object]]:
    """Of each column that is no list, struct or map: equal to, above and below a value that it has, and null."""
    made: list[tuple[str, str, object]] = []
    for field in rows.schema:
        if pa.types.is_nested(field.type):
            continue
        held = rows[field.name].drop_null()
        if len(held):
            value = held.sort()[len(held) // 2].as_py()
            made += [(field.name, "=", value)]
            made += [] if pa.types.is_boolean(field.type) else [(field.name, ">", value), (field.name, "<=", value)]
        made.append((field.name, "null", None))
    return made


def _by_arrow(name: str, operator: str, value: object) -> pc.Expression:
    column = pc.field(name)
    if operator == "null":
        return column.is_null()
    return {"=": column.__eq__, ">": column.__gt__, "<=": column.__le__}[operator](value)


def _by_polars(name: str, operator: str, value: object) -> pl.Expr:
    column = pl.col(name)
    return (
        column.is_null() if operator == "null" else {"=": column.eq, ">": column.gt, "<=": column.le}[operator](value)
    )


def _by_sql(name: str, operator: str, value: object) -> str:
    if operator == "null":
        return f'"{name}" is null'
    if isinstance(value, str):
        value = value.replace("'", "''")
        return f"\"{name}\" {operator} '{value}'"
    if isinstance(value, datetime):
        return f"\"{name}\" {operator} timestamp '{value:%Y-%m-%d %H:%M:%S.%f}+00'"
    return f'"{name}" {operator} {value}'


@pytest.mark.parametrize("table", [table.name for table in ALL])
def test_other_readers_find_by_any_column_what_memlake_finds(anew, studied, table):
    lake = studied if table in (*stored.RUN_TABLES, "tags") else anew
    stored_rows = memlake.table(memlake.open(str(lake)), table)
    filters = _filters(stored_rows)
    expected = {wanted: stored_rows.filter(_by_arrow(*wanted)).num_rows for wanted in filters}
    assert any(expected.values())

    opened = DeltaTable(lake / "parquet" / table)
    dataset, scanned = opened.to_pyarrow_dataset(), pl.scan_delta(str(lake / "parquet" / table))
    assert {wanted: dataset.to_table(filter=_by_arrow(*wanted)).num_rows for wanted in filters} == expected
    assert {
        wanted: scanned.filter(_by_polars(*wanted)).select(pl.len()).collect().item() for wanted in filters
    } == expected
    counts = ", ".join(
        f"count(*) filter (where {_by_sql(*wanted)}) as c{place}" for place, wanted in enumerate(filters)
    )
    (row,) = pa.table(QueryBuilder().register("t", opened).execute(f"select {counts} from t")).to_pylist()
    assert dict(zip(filters, row.values(), strict=True)) == expected
    (row,) = (
        duckdb.read_parquet(opened.file_uris(), hive_partitioning=True).aggregate(counts).to_arrow_table().to_pylist()
    )
    assert dict(zip(filters, row.values(), strict=True)) == expected
