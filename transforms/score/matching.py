"""The deterministic check of an answer, as the judge `match` makes it: is every word of an accepted answer in it."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from memlake.schemas import ANSWERS
from memlake.schemas.table import BOOL, STRING
from memlake.transforms.answer.matching import Tokens, matches
from memlake.transforms.text.content_tokens import Language

MATCHES = pa.schema(
    [
        *(pa.field(name, ANSWERS.schema.field(name).type, nullable=False) for name in ANSWERS.key),
        pa.field("label_set", STRING, nullable=False),
        pa.field("matched", BOOL),
    ]
)

_ASKED = """
select run_id, cell, corpus, question_id, cutoff_kind, cutoff, repeat, label_set, chose_nothing, abstained, answerable,
    accepted, case when abstained then text else said end as said
from labelled_answers
where run_id = $run_id and text is not null
"""


def matches_of(connection: duckdb.DuckDBPyConnection, run_id: str, languages: Mapping[str, Language]) -> pa.Table:
    """MATCHES: whether each answer of a run holds an accepted one, under every label set of its question.

    Where there is no answer to be found, an answer matches that says so; where there is one, such an answer never does. An
    answer that chooses an option is the option's text, unless it abstains. Null where no accepted answer has a token, or no option is chosen.

    Args:
        languages: by corpus, how its text is stemmed.
    """
    rows = connection.sql(_ASKED, params={"run_id": run_id}).to_arrow_table()
    names = ("corpus", "said", "chose_nothing", "abstained", "answerable", "accepted")
    asked = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    texts: dict[Language, set[str]] = {}
    for corpus, said, _, _, _, accepted in asked:
        texts.setdefault(languages[corpus], set()).update((said, *accepted))
    tokens = {language: Tokens(sorted(found), language) for language, found in texts.items()}
    matched: list[bool | None] = []
    for corpus, said, chose_nothing, abstained, answerable, accepted in asked:
        if chose_nothing:
            matched.append(None)
        elif not answerable:
            matched.append(abstained)
        else:
            matched.append(matches(said, accepted, tokens[languages[corpus]])[0])
    kept = rows.select([*ANSWERS.key, "label_set"])
    return kept.append_column("matched", pa.array(matched, BOOL)).cast(MATCHES)
