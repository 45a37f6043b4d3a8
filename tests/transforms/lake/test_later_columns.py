"""Columns that a table got later: files of before are read as they are, with nulls."""

import pyarrow.parquet as pq
import pytest
from small_tables import rows_of

from memlake.schemas import RETRIEVALS
from memlake.transforms.lake.query.connect import bare_connection, create_view

LATER = ["sparse", "multi", "rerank"]


@pytest.mark.parametrize("files", [("old",), ("new",), ("old", "new"), ("new", "old"), ()])
def test_files_with_and_without_a_later_column_are_one_view(tmp_path, files):
    for name in files:
        rows = rows_of(RETRIEVALS, [{"unit_id": name, "rerank": 0.5}])
        pq.write_table(rows.drop_columns(LATER) if name == "old" else rows, tmp_path / f"{name}.parquet")
    connection = bare_connection()
    create_view(connection, RETRIEVALS, [tmp_path / f"{name}.parquet" for name in files])
    view = connection.sql("select unit_id, rerank, sparse from retrievals order by unit_id").fetchall()
    assert view == sorted((name, 0.5 if name == "new" else None, None) for name in files)
    columns = [row[0] for row in connection.sql("describe retrievals").fetchall()]
    assert columns == RETRIEVALS.schema.names
