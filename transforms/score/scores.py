"""Scores and losses of a run: metrics of texts, every file of sql/scores, where answers were lost, and means to print."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from memlake.schemas import LOSSES, SCORES
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.sql import sql_file, sql_files
from memlake.transforms.score.answer_metrics import answer_scores
from memlake.transforms.score.losses import losses_of
from memlake.transforms.score.registered import registered
from memlake.transforms.score.source_tokens import SOURCE_TOKENS
from memlake.transforms.text.content_tokens import Language


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a run's rows come to.

    Attributes:
        scores: rows of the scores schema, in the order of their key.
        losses: rows of the losses schema, in the order of their key.
        signatures: by metric of a text what decides its values: tokeniser, stemmer, version.
    """

    scores: pa.Table
    losses: pa.Table
    signatures: Mapping[str, str] = field(default_factory=dict)


def evaluate(
    connection: duckdb.DuckDBPyConnection,
    run_id: str,
    *,
    unit_tokens: pa.Table,
    source_tokens: Sequence[pa.Table] = (),
    unlike: frozenset[str] = frozenset(),
) -> Evaluated:
    """Score a run: what it retrieved, what was answered, what judges said; and where wrong answers were lost.

    Args:
        connection: every table of the schemas by its name, with the macros and views of sql/; `cells`, `retrievals`,
            `contexts`, `answers` and `judgements` hold the run's rows, and `questions` the labels that it is scored against
            and no others (an Arrow table registered under the name hides the stored one).
        run_id: the run.
        unit_tokens: rows of UNIT_TOKENS for the conversations that were searched, of every representation in a cell.
        source_tokens: tables of SOURCE_TOKENS that hold every conversation that was judged.
        unlike: judges that judge something else than whether an answer is right, as `unlike_judges` tells of a study.

    Raises:
        NotFoundError: the run has no cells in this connection.
        UsageError: what a loss is told by is missing.
    """
    languages = _languages(connection, run_id)
    texts, signatures = answer_scores(connection, run_id, languages)
    with registered(connection, unit_tokens=unit_tokens, text_scores=texts):
        families = [
            connection.sql(file.text, params={"run_id": run_id}).to_arrow_table().cast(SCORES.schema)
            for file in sql_files("scores")
        ]
    scores = pa.concat_tables([texts, *families]).sort_by([(name, "ascending") for name in SCORES.key])
    losses = LOSSES.empty()
    if connection.execute(_ANY_WRONG, {"run_id": run_id}).fetchall():
        losses = losses_of(
            connection,
            run_id,
            unit_tokens=unit_tokens,
            source_tokens=pa.concat_tables([SOURCE_TOKENS.empty_table(), *source_tokens]),
            languages=languages,
            unlike=unlike,
        )
    return Evaluated(scores, losses, signatures)


_ANY_WRONG = "select 1 from judgements where run_id = $run_id and correct = false limit 1"


def _languages(connection: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, Language]:
    """By corpus the language that its cells declare; English where they declare none."""
    rows = connection.execute(
        "select distinct corpus, settings from cells where run_id = $run_id", {"run_id": run_id}
    ).fetchall()
    if not rows:
        raise NotFoundError(f"run_id={run_id!r} has no cells", hint="memlake study ls")
    return {corpus: json.loads(settings or "{}").get("language", "english") for corpus, settings in rows}


def summary(connection: duckdb.DuckDBPyConnection, run_id: str | None = None) -> pa.Table:
    """Means of a run's scores: cell, metric, cutoff, category (null: all), mean, n, excluded, and why excluded.

    A run of None is the latest study of the snapshot.
    """
    return connection.sql(sql_file("reports", "score-means").text, params={"run_id": run_id}).to_arrow_table()
