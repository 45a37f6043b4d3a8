"""The deterministic check of an answer: is every content token of an accepted answer among its own."""

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from schemas import ANSWERS
from schemas.table import BOOL, STRING
from transforms.score.content_tokens import Language, content_tokens_of

MATCHES = pa.schema(
    [
        *(pa.field(name, ANSWERS.schema.field(name).type, nullable=False) for name in ANSWERS.key),
        pa.field("label_set", STRING, nullable=False),
        pa.field("matched", BOOL),
    ]
)

_ASKED = """
select run_id, cell, corpus, question_id, cutoff_kind, cutoff, repeat, label_set, text, abstained, answerable, accepted
from labelled_answers
where run_id = $run_id and text is not null
"""


def matches_of(connection: duckdb.DuckDBPyConnection, run_id: str, languages: Mapping[str, Language]) -> pa.Table:
    """MATCHES: whether each answer of a run holds an accepted one, under every label set of its question.

    Where there is no answer to be found, an answer matches that says so. Null where no accepted answer has a token.

    Args:
        languages: by corpus, how its text is stemmed.
    """
    rows = connection.sql(_ASKED, params={"run_id": run_id}).to_arrow_table()
    names = ("corpus", "text", "abstained", "answerable", "accepted")
    asked = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    texts: dict[Language, set[str]] = {}
    for corpus, text, _, _, accepted in asked:
        texts.setdefault(languages[corpus], set()).update((text, *accepted))
    tokens = {language: _token_sets(sorted(found), language) for language, found in texts.items()}
    matched = [
        _matches(tokens[languages[corpus]], text, accepted) if answerable else abstained
        for corpus, text, abstained, answerable, accepted in asked
    ]
    kept = rows.select([*ANSWERS.key, "label_set"])
    return kept.append_column("matched", pa.array(matched, BOOL)).cast(MATCHES)


def _token_sets(texts: list[str], language: Language) -> dict[str, frozenset[str]]:
    lists = content_tokens_of(texts, language=language, distinct=True).to_pylist()
    return {text: frozenset(tokens) for text, tokens in zip(texts, lists, strict=True)}


def _matches(tokens: Mapping[str, frozenset[str]], text: str, accepted: Sequence[str]) -> bool | None:
    wanted = [tokens[gold] for gold in accepted if tokens[gold]]
    return any(gold <= tokens[text] for gold in wanted) if wanted else None
