"""Metrics of an answer's text against the accepted ones: rows of scores, null with a reason where they are undefined."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import duckdb
import pyarrow as pa

from memlake.schemas import ANSWERS, SCORES
from memlake.schemas.table import FLOAT, STRING
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
