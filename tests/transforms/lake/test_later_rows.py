"""Rows of files that were written before a column came: written again they have it, as null."""

from pathlib import Path

import pyarrow.parquet as pq

from memlake.schemas import CONTEXTS, RETRIEVALS
from memlake.transforms.lake.storage.files import Stager


def test_rows_that_lack_a_later_column_are_written_again_with_nulls(tmp_path: Path):
    for table in (CONTEXTS, RETRIEVALS):
        later = [field.name for field in table.schema if b"later" in (field.metadata or {})]
        assert later
        row = {field.name: [] if "list" in str(field.type) else None for field in table.schema}
        row |= {f.name: {"string": "x", "int64": 1, "float": 1.0}.get(str(f.type), row[f.name]) for f in table.schema}
        rows = table.rows([row]).drop_columns(later)
        stager = Stager(tmp_path)
        stager.write(table, rows)
        (file,) = stager.close()[0]
        written = pq.read_table(tmp_path / "parquet" / table.name / file.path)
        assert written.schema.names == table.stored_schema.names
        assert written.select(later).to_pylist() == [dict.fromkeys(later)]
