"""Scores and losses of a run: metrics of texts, every file of sql/scores, where answers were lost, and means to print."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import duckdb
import pyarrow as pa

from memlake.schemas import ANSWERS, LOSSES, SCORES
from memlake.schemas.table import FLOAT, STRING
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.sql import sql_file, sql_files
from memlake.transforms.lake.query.connect import registered
from memlake.transforms.score.losses import losses_of
from memlake.transforms.score.source_tokens import SOURCE_TOKENS
from memlake.transforms.score.text_overlap import Bleu, RougeL, exact_match
from memlake.transforms.score.token_f1 import TokenF1, says_unanswerable
from memlake.transforms.text.content_tokens import Language

_ASKED = """
select run_id, cell, corpus, conversation_id, question_id, cutoff_kind, cutoff, repeat, label_set, category,
    said, reason, answerable, accepted, format
from labelled_answers
where run_id = $run_id
"""
# A value and, where there is none, why.
_Value = tuple[float | None, str | None]


class Asked(NamedTuple):
    """An answer beside its labels: accepted answers, whether there is one, the format of the conversation, category."""

    said: str
    accepted: tuple[str, ...]
    answerable: bool
    format: str
    category: str


class Scorers:
    """What scores texts of one language, each made when it is first needed."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self._values: dict[Asked, list[_Value]] = {}

    @cached_property
    def f1(self) -> TokenF1:
        """Token F1."""
        return TokenF1(self.language)

    @cached_property
    def bleu(self) -> Bleu:
        """BLEU."""
        return Bleu(self.language)

    @cached_property
    def rouge_l(self) -> RougeL:
        """ROUGE-L."""
        return RougeL()

    def values(self, asked: Asked) -> list[_Value]:
        """A value of each of TEXT_METRICS; equal texts are scored once, since readers often say the same."""
        if asked not in self._values:
            self._values[asked] = [self._value(metric, asked) for metric in TEXT_METRICS.values()]
        return self._values[asked]

    def _value(self, metric: "TextMetric", asked: Asked) -> _Value:
        if not asked.answerable:
            value = metric.unanswerable(asked)
            return value, None if value is not None else "unanswerable"
        if not asked.accepted:
            return None, "no_gold_answer"
        values = [value for gold in asked.accepted if (value := metric.score(self, asked, gold)) is not None]
        return (max(values), None) if values else (None, metric.undefined)


@dataclass(frozen=True, slots=True)
class TextMetric:
    """How answers are scored by one metric; of several accepted answers the one that gives most counts.

    Attributes:
        score: what was said against one accepted answer; None where the metric is undefined.
        undefined: the reason where it is undefined for every accepted answer.
        signature: what decides its values; None where another metric's says it.
        unanswerable: its value where there is no answer; None for none.
    """

    score: Callable[[Scorers, Asked, str], float | None]
    undefined: str = ""
    signature: Callable[[Scorers], str] | None = None
    unanswerable: Callable[[Asked], float | None] = lambda _: None


def _by_category(scorers: Scorers, asked: Asked, gold: str) -> float | None:
    """Token F1 by the rules of LoCoMo's categories where the conversation was read as LoCoMo, else plain."""
    if asked.format == "locomo":
        return scorers.f1.locomo(asked.said, gold, asked.category)
    return scorers.f1.plain(asked.said, gold)


def _declines(asked: Asked) -> float | None:
    """LoCoMo's category 5: whether the answer declines."""
    return says_unanswerable(asked.said) if (asked.format, asked.category) == ("locomo", "5") else None


# In the order in which an answer is scored; each has a card in schemas/metrics.py.
TEXT_METRICS: dict[str, TextMetric] = {
    "token_f1": TextMetric(_by_category, "unknown_category", lambda scorers: scorers.f1.signature, _declines),
    "token_f1_plain": TextMetric(lambda scorers, asked, gold: scorers.f1.plain(asked.said, gold)),
    "exact_match": TextMetric(lambda _, asked, gold: exact_match(asked.said, gold), signature=lambda _: "squad"),
    "bleu": TextMetric(
        lambda scorers, asked, gold: scorers.bleu(asked.said, gold),
        "no_gold_words",
        lambda scorers: scorers.bleu.signature,
    ),
    "rouge_l": TextMetric(
        lambda scorers, asked, gold: scorers.rouge_l(asked.said, gold),
        "no_gold_words",
        lambda scorers: scorers.rouge_l.signature,
    ),
}


def answer_scores(
    connection: duckdb.DuckDBPyConnection, run_id: str, languages: Mapping[str, Language]
) -> tuple[pa.Table, dict[str, str]]:
    """Rows of the scores schema for TEXT_METRICS of every answer of a run under every label set of its question.

    An answer that chooses an option is scored by the option's text. For a question that has no answer all are null, but
    for `token_f1` in LoCoMo's category 5.

    Args:
        connection: every table and view by its name; `answers` and `questions` hold what is scored.
        languages: by corpus, how its text is stemmed and cut.

    Returns:
        The rows, and by metric what decides its values ('METRIC@other' for text that is not English).
    """
    rows = connection.sql(_ASKED, params={"run_id": run_id}).to_arrow_table()
    scorers: dict[Language, Scorers] = {}
    values: list[list[_Value]] = []
    names = ("corpus", "reason", "said", "accepted", "answerable", "format", "category")
    for corpus, reason, said, accepted, *labels in zip(*(rows[name].to_pylist() for name in names), strict=True):
        if said is None:
            values.append([(None, reason or "no_answer")] * len(TEXT_METRICS))
        else:
            of_language = scorers.setdefault(languages[corpus], Scorers(languages[corpus]))
            values.append(of_language.values(Asked(said, tuple(accepted), *labels)))
    signatures = {
        f"{name}{'' if language == 'english' else f'@{language}'}": metric.signature(of_language)
        for language, of_language in scorers.items()
        for name, metric in TEXT_METRICS.items()
        if metric.signature is not None
    }
    return _score_rows(rows, values), signatures


def _score_rows(rows: pa.Table, values: list[list[_Value]]) -> pa.Table:
    """One row a metric of each answer, metric by metric."""
    kept = rows.select([*ANSWERS.key, "conversation_id", "label_set", "category"])
    tables = [SCORES.empty()]
    for place, metric in enumerate(TEXT_METRICS):
        of_metric = [of_answer[place] for of_answer in values]
        added = {
            "metric": pa.repeat(metric, len(of_metric)),
            "judge": pa.repeat("", len(of_metric)),
            "value": pa.array([value for value, _ in of_metric], FLOAT),
            "reason": pa.array([reason for _, reason in of_metric], STRING),
        }
        table = kept
        for name, column in added.items():
            table = table.append_column(name, column)
        tables.append(table.select(SCORES.schema.names).cast(SCORES.schema))
    return pa.concat_tables(tables)


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
        unit_tokens: rows of UNIT_TOKENS for the conversations that were searched, of every representation in a cell.
        source_tokens: tables of SOURCE_TOKENS that hold every conversation that was judged.
        unlike: judges that judge something else than whether an answer is right, as `unlike_judges` tells of a study.

    Raises:
        NotFoundError: the run has no cells in this connection.
        UsageError: what a loss is decided by is missing.
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
