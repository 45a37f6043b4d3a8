"""Where answers were lost: a row for each judgement that calls one wrong."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import ANSWERS, LOSSES
from memlake.schemas.table import BOOL, INT, STRING
from memlake.transforms.answer.matching import Tokens, matches
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.sql import sql_file
from memlake.transforms.lake.query.connect import registered
from memlake.transforms.text.content_tokens import Language

UNLIKE = pa.schema([pa.field("judge", STRING, nullable=False)])
BY_TURN = pa.schema(
    [
        *(pa.field(name, STRING, nullable=False) for name in ("cell", "corpus", "question_id", "label_set")),
        pa.field("wanted", INT, nullable=False),
        pa.field("stored", INT, nullable=False),
        pa.field("ranks", pa.list_(INT)),
    ]
)

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
_NO_SOURCE = """
select judgements.corpus, judgements.conversation_id
from judgements
anti join source_tokens
    on judgements.corpus = source_tokens.corpus and judgements.conversation_id = source_tokens.conversation_id
where judgements.run_id = $run_id and judgements.correct = false
order by all
limit 1
"""


def losses_of(
    connection: duckdb.DuckDBPyConnection,
    run_id: str,
    *,
    unit_tokens: pa.Table,
    source_tokens: pa.Table,
    languages: Mapping[str, Language],
    unlike: frozenset[str] = frozenset(),
) -> pa.Table:
    """Rows of the losses schema for every judgement of a run that calls an answer wrong, in the order of their key.

    The first class that holds, over the gold answer's content tokens that occur in the conversation: failed_abstention
    (there is no answer, and one was given), not_in_source (none of them occurs), not_stored, not_retrieved (not among the
    candidates), packed_out (not in the context), misread. A gold answer without content tokens ('she') tells nothing by
    words: there the gold turns of the question stand in their place, and a turn counts as shown where a unit of it is. Has
    it no gold turns either, it is misread where anything was shown, packed_out where there were candidates, else
    not_retrieved. An answer that the reader failed to give, and a verdict that the judge failed to give, are not wrong: they
    are counted by scores.

    Args:
        connection: every table, macro and view by its name, with the run's rows.
        unit_tokens: rows of UNIT_TOKENS, as for `evaluate`.
        source_tokens: rows of SOURCE_TOKENS for the conversations that were asked about.
        languages: by corpus, how its text is stemmed.
        unlike: judges whose verdict is not on whether the answer is right: they dispute no loss.

    Raises:
        UsageError: a conversation with a wrong answer has no source tokens, or a question no candidate list.
    """
    beside = {
        "unit_tokens": unit_tokens,
        "source_tokens": source_tokens,
        "matches": matches_of(connection, run_id, languages),
        "unlike": pa.table({"judge": sorted(unlike)}, schema=UNLIKE),
    }
    by_turn = connection.sql(sql_file("losses", "by_turn").text, params={"run_id": run_id}).to_arrow_table()
    with registered(connection, by_turn=by_turn.cast(BY_TURN), **beside):
        for corpus, conversation in connection.execute(_NO_SOURCE, {"run_id": run_id}).fetchall():
            raise UsageError(
                f"corpus={corpus!r} conversation_id={conversation!r} has wrong answers and no source tokens: each "
                "conversation that is asked about needs its own",
                hint="source_tokens=source_tokens_of(snapshot, corpus, conversations, language)",
            )
        text = sql_file("losses", "losses").text
        made = connection.sql(text, params={"run_id": run_id}).to_arrow_table()
    if made["loss"].null_count:
        row = made.filter(pc.is_null(made["loss"])).slice(0, 1).to_pylist()[0]
        raise UsageError(
            f"cell={row['cell']!r} question_id={row['question_id']!r} has no context of kind 'candidates', which is the "
            "list that a loss is told by",
            hint="memlake study run STUDY",
        )
    return made.cast(LOSSES.schema).sort_by([(name, "ascending") for name in LOSSES.key])


def matches_of(connection: duckdb.DuckDBPyConnection, run_id: str, languages: Mapping[str, Language]) -> pa.Table:
    """MATCHES, the deterministic check of an answer as the judge `match` makes it: whether each answer of a run holds an accepted one, under every label set of its question.

    Where there is no answer to be found, an answer matches that says so; where there is one, such an answer never does. An
    answer that chooses an option is the option's text, unless it abstains. Null where no accepted answer has a token, or no
    option is chosen.

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
