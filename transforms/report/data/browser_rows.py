"""What the browser of a report reads from the tables: questions, gold, contexts, ranks, units, answers, scores."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from memlake.schemas.table import BOOL, INT, STRING, STRINGS
from memlake.transforms.base.sql import sql_files
from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Row
from memlake.transforms.study.study import Measure

ASKED = """
select distinct corpus, conversation_id, question_id from contexts where run_id = $run_id
order by corpus, conversation_id, question_id
"""
# Questions, turns and units are as the run read them, the rest as the run made it.
_AS_READ = ("browsed_questions", "browsed_gold", "browsed_turns", "browsed_touching", "browsed_units")
BROWSED = pa.schema([(name, STRING) for name in ("corpus", "conversation_id", "question_id")])
BROWSED_CELLS = pa.schema(
    [
        ("cell", STRING),
        ("corpus", STRING),
        ("representations", STRINGS),
        ("cutoff_kind", STRING),
        ("cutoff", INT),
        ("whole", BOOL),
        ("judge", STRING),
    ]
)


def browser_rows(
    connection: duckdb.DuckDBPyConnection,
    source: duckdb.DuckDBPyConnection,
    run_id: str,
    cards: Sequence[CellCard],
    asked: pa.Table,
    at: Measure,
) -> dict[str, list[Row]]:
    """What each file of sql/browser says of some questions, by the file's name.

    Args:
        connection: the snapshot that holds the run's rows.
        source: the snapshot that the run read, whose texts were searched.
        asked: rows of BROWSED, which ASKED finds.
    """
    cells = [{name: getattr(card, name) for name in BROWSED_CELLS.names} for card in cards]
    known = {"browsed": asked, "browsed_cells": pa.Table.from_pylist(cells, schema=BROWSED_CELLS)}
    values = {"run_id": run_id, "label_set": at.label_set, "metric": at.metric}
    rows: dict[str, list[Row]] = {}
    for file in sql_files("browser"):
        side = source if file.name in _AS_READ else connection
        for read in file.reads:
            if read in known:
                side.register(read, known[read])
        (statement,) = duckdb.extract_statements(file.text)
        params = {name: values[name] for name in statement.named_parameters}
        known[file.name] = side.sql(file.text, params=params).to_arrow_table()
        rows[file.name] = known[file.name].to_pylist()
    return rows
