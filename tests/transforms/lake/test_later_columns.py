"""Columns that a table got later: files of before are read as they are, with nulls."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from small_tables import rows_of

from memlake.schemas import DEAD_LETTERS, RETRIEVALS
from memlake.schemas.table import Table
from memlake.transforms.lake.query.connect import bare_connection, create_view
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.tables import _add_later_columns

LATER = ["sparse", "multi", "rerank", "parts"]


@pytest.mark.parametrize("files", [("old",), ("new",), ("old", "new"), ("new", "old"), ()])
def test_files_with_and_without_a_later_column_are_one_view(tmp_path, files):
    for name in files:
        rows = rows_of(RETRIEVALS, [{"unit_id": name, "rerank": 0.5, "parts": {"mine": 1.5}}])
        pq.write_table(rows.drop_columns(LATER) if name == "old" else rows, tmp_path / f"{name}.parquet")
    connection = bare_connection()
    create_view(connection, RETRIEVALS, [tmp_path / f"{name}.parquet" for name in files])
    view = connection.sql("select unit_id, rerank, sparse, parts['mine'] from retrievals order by unit_id").fetchall()
    assert view == sorted((name, *((0.5, None, 1.5) if name == "new" else (None, None, None))) for name in files)
    columns = [row[0] for row in connection.sql("describe retrievals").fetchall()]
    assert columns == RETRIEVALS.schema.names


def test_a_journal_takes_rows_of_two_writers_who_both_found_it_without_its_later_columns(tmp_path, monkeypatch):
    lake, rows = Lake(tmp_path), rows_of(DEAD_LETTERS, [{"payload": "raw"}])
    before = pa.schema([field for field in DEAD_LETTERS.schema if field.name != "payload"])
    stale = DeltaTable.create(str(lake.table_path("dead_letters")), schema=before)
    lake.journal(DEAD_LETTERS, rows)
    with monkeypatch.context() as patch:

        def late(self: Lake, table: Table) -> DeltaTable:
            patch.undo()
            return stale

        patch.setattr(Lake, "open_table", late)
        lake.journal(DEAD_LETTERS, rows)
    stored = DeltaTable(lake.table_path("dead_letters")).to_pyarrow_table()
    assert stored["payload"].to_pylist() == ["raw", "raw"]


def test_a_delta_table_of_before_a_later_column_is_told_of_it(tmp_path):
    before = pa.schema([field for field in RETRIEVALS.schema if field.name not in LATER])
    DeltaTable.create(str(tmp_path), schema=before)
    _add_later_columns(DeltaTable(str(tmp_path)), RETRIEVALS)
    fields = {field.name: field.type.type for field in DeltaTable(str(tmp_path)).schema().fields}
    assert list(fields) == RETRIEVALS.schema.names
    assert (fields["rerank"], fields["parts"]) == ("float", "map")
