"""Scores of a run: every file of sql/scores over the run's retrievals and contexts, and their means for printing."""

import duckdb
import pyarrow as pa

from schemas import SCORES
from transforms.errors import NotFoundError
from transforms.sql import sql_file, sql_files


def evaluate(
    connection: duckdb.DuckDBPyConnection,
    run_id: str,
    *,
    unit_tokens: pa.Table,
) -> pa.Table:
    """Rows of the scores schema for every metric that needs no model, in the order of their key.

    Args:
        connection: every table of the schemas by its name, with the macros and views of sql/; `cells`, `retrievals` and
            `contexts` hold the run's rows, and `questions` the labels that it is scored against and no others (an Arrow
            table registered under the name hides the stored one).
        run_id: the run.
        unit_tokens: rows of UNIT_TOKENS for the conversations that were searched, of every representation in a cell.

    Raises:
        NotFoundError: the run has no cells in this connection.
    """
    if not connection.execute("select count(*) from cells where run_id = $run_id", {"run_id": run_id}).fetchall()[0][0]:
        raise NotFoundError(f"run_id={run_id!r} has no cells", hint="memlake study ls")
    connection.register("unit_tokens", unit_tokens)
    try:
        families = [
            connection.sql(file.text, params={"run_id": run_id}).to_arrow_table().cast(SCORES.schema)
            for file in sql_files("scores")
        ]
    finally:
        connection.unregister("unit_tokens")
    return pa.concat_tables(families).sort_by([(name, "ascending") for name in SCORES.key])


def summary(connection: duckdb.DuckDBPyConnection, run_id: str | None = None) -> pa.Table:
    """Means of a run's scores: cell, metric, cutoff, category (null: all), mean, n, excluded, and why excluded.

    A run of None is the latest study of the snapshot.
    """
    return connection.sql(sql_file("reports", "score-means").text, params={"run_id": run_id}).to_arrow_table()
