"""Metrics of an answer's text against the accepted ones: rows of scores, null with a reason where they are undefined."""

from collections.abc import Callable, Iterable, Mapping

import duckdb
import pyarrow as pa

from memlake.schemas import ANSWERS, SCORES
from memlake.schemas.table import FLOAT, STRING
from memlake.transforms.score.text_overlap import Bleu, RougeL, exact_match
from memlake.transforms.score.token_f1 import TokenF1, says_unanswerable, signature
from memlake.transforms.text.content_tokens import Language

METRICS = ("token_f1", "token_f1_plain", "exact_match", "bleu", "rouge_l")

# A value and, where there is none, why.
_Value = tuple[float | None, str | None]
# Answer, accepted answers, whether there is one, the format that the conversation was read from, category.
_Asked = tuple[str, tuple[str, ...], bool, str, str]

_ASKED = """
select run_id, cell, corpus, conversation_id, question_id, cutoff_kind, cutoff, repeat, label_set, category,
    said, reason, answerable, accepted, format
from labelled_answers
where run_id = $run_id
"""
_READ = ("corpus", "reason", "said", "accepted", "answerable", "format", "category")
_UNANSWERABLE: _Value = (None, "unanswerable")


def answer_scores(
    connection: duckdb.DuckDBPyConnection, run_id: str, languages: Mapping[str, Language]
) -> tuple[pa.Table, dict[str, str]]:
    """Rows of the scores schema for METRICS of every answer of a run under every label set of its question.

    An answer that chooses an option is scored by the option's text. Of several accepted answers the one that gives most
    counts. `token_f1` has the rules of LoCoMo's categories where the conversation was read as LoCoMo, and is
    `token_f1_plain` elsewhere. For a question that has no answer all are null, but for `token_f1` in LoCoMo's category 5:
    whether the answer declines.

    Args:
        connection: every table and view by its name; `answers` and `questions` hold what is scored.
        languages: by corpus, how its text is stemmed and cut.

    Returns:
        The rows, and by metric what decides its values ('METRIC@other' for text that is not English).
    """
    rows = connection.sql(_ASKED, params={"run_id": run_id}).to_arrow_table()
    scorers: dict[Language, _Scorer] = {}
    values: list[tuple[_Value, ...]] = []
    for corpus, reason, text, accepted, *labels in zip(*(rows[name].to_pylist() for name in _READ), strict=True):
        if text is None:
            values.append(((None, reason or "no_answer"),) * len(METRICS))
            continue
        language = languages[corpus]
        if language not in scorers:
            scorers[language] = _Scorer(language)
        values.append(scorers[language].values((text, tuple(accepted), *labels)))
    signatures = {name: text for scorer in scorers.values() for name, text in scorer.signatures.items()}
    return _score_rows(rows, values), signatures


class _Scorer:
    """Every metric in one language; equal texts are scored once, since readers often say the same."""

    def __init__(self, language: Language) -> None:
        self._f1, self._bleu, self._rouge = TokenF1(language), Bleu(language), RougeL()
        self._known: dict[_Asked, tuple[_Value, ...]] = {}
        suffix = "" if language == "english" else f"@{language}"
        self.signatures = {
            f"token_f1{suffix}": signature(language),
            f"exact_match{suffix}": "squad",
            f"bleu{suffix}": self._bleu.signature,
            f"rouge_l{suffix}": self._rouge.signature,
        }

    def values(self, asked: _Asked) -> tuple[_Value, ...]:
        """A value of each of METRICS."""
        if asked not in self._known:
            self._known[asked] = self._values(*asked)
        return self._known[asked]

    def _values(
        self, said: str, accepted: tuple[str, ...], answerable: bool, origin: str, category: str
    ) -> tuple[_Value, ...]:
        if not answerable:
            declines: _Value = (says_unanswerable(said), None)
            return (declines if (origin, category) == ("locomo", "5") else _UNANSWERABLE, *(_UNANSWERABLE,) * 4)
        if not accepted:
            return ((None, "no_gold_answer"),) * len(METRICS)
        plain = _best(self._f1.plain, said, accepted, "")
        by_category = plain
        if origin == "locomo":
            by_category = _best(lambda a, b: self._f1.locomo(a, b, category), said, accepted, "unknown_category")
        return (
            by_category,
            plain,
            _best(exact_match, said, accepted, ""),
            _best(self._bleu, said, accepted, "no_gold_words"),
            _best(self._rouge, said, accepted, "no_gold_words"),
        )


def _best(metric: Callable[[str, str], float | None], said: str, accepted: Iterable[str], reason: str) -> _Value:
    """The highest value over accepted answers; the reason when it is defined for none of them."""
    values = [value for gold in accepted if (value := metric(said, gold)) is not None]
    return (max(values), None) if values else (None, reason)


def _score_rows(rows: pa.Table, values: list[tuple[_Value, ...]]) -> pa.Table:
    """One row a metric of each answer, metric by metric."""
    kept = rows.select([*ANSWERS.key, "conversation_id", "label_set", "category"])
    tables = [SCORES.empty()]
    for place, metric in enumerate(METRICS):
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
