"""What the browser of a report reads from the tables: questions, gold, contexts, ranks, units, answers, scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from memlake.schemas.table import BOOL, INT, STRING
from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Row
from memlake.transforms.study.study import Measure

Connection = duckdb.DuckDBPyConnection

_ASKED = """
select distinct corpus, conversation_id, question_id from contexts where run_id = $run_id
order by corpus, conversation_id, question_id
"""
# Labels of the headline where a question has them, else its first ones.
_QUESTIONS = """
select questions.*
from questions
semi join report_asked on questions.corpus = report_asked.corpus and questions.question_id = report_asked.question_id
qualify
    row_number() over (
        partition by questions.corpus, questions.question_id
        order by questions.label_set = $label_set desc, questions.label_set
    ) = 1
order by questions.corpus, questions.conversation_id, questions.position
"""
_GOLD_TURNS = """
select gold_turns.corpus, gold_turns.conversation_id, gold_turns.question_id, gold_turns.label_set, gold_turns.ordinal
from gold_turns
semi join report_asked on gold_turns.corpus = report_asked.corpus and gold_turns.question_id = report_asked.question_id
order by gold_turns.corpus, gold_turns.question_id, gold_turns.ordinal
"""
_TURNS = """
select
    turns.corpus, turns.conversation_id, turns.ordinal, turns.turn_id, turns.speaker, turns.text,
    turns.said_at, turns.session_label, turns.session_at
from turns
semi join report_turns
    on
        turns.corpus = report_turns.corpus
        and turns.conversation_id = report_turns.conversation_id
        and turns.ordinal = report_turns.ordinal
"""
_TOUCHING = """
select distinct
    provenance.corpus, provenance.conversation_id, provenance.ordinal, provenance.representation, provenance.unit_id
from provenance
semi join report_turns
    on
        provenance.corpus = report_turns.corpus
        and provenance.conversation_id = report_turns.conversation_id
        and provenance.ordinal = report_turns.ordinal
where provenance.touches_text and list_contains($representations, provenance.representation)
"""
_UNITS = """
select units.corpus, units.conversation_id, units.representation, units.unit_id, units.ordinal, units.show_text
from units
semi join report_units
    on
        units.corpus = report_units.corpus
        and units.representation = report_units.representation
        and units.unit_id = report_units.unit_id
order by units.corpus, units.conversation_id, units.representation, units.ordinal, units.unit_id
"""
_CONTEXTS = """
select
    contexts.cell, contexts.corpus, contexts.question_id, contexts.units, contexts.tokens, contexts.content_tokens,
    case when not report_shown.whole then contexts.text end as text,
    not report_shown.whole and contexts.text is null as text_gone
from contexts
inner join report_shown
    on
        contexts.cell = report_shown.cell
        and contexts.corpus = report_shown.corpus
        and contexts.cutoff_kind = report_shown.cutoff_kind
        and contexts.cutoff = report_shown.cutoff
semi join report_asked on contexts.corpus = report_asked.corpus and contexts.question_id = report_asked.question_id
where contexts.run_id = $run_id
"""
_SHOWN_UNITS = """
select
    retrievals.cell, retrievals.corpus, retrievals.question_id,
    list(retrievals.representation order by retrievals.rank) as representations,
    list(retrievals.unit_id order by retrievals.rank) as unit_ids
from retrievals
inner join report_contexts
    on
        retrievals.cell = report_contexts.cell
        and retrievals.corpus = report_contexts.corpus
        and retrievals.question_id = report_contexts.question_id
where retrievals.run_id = $run_id and retrievals.rank <= report_contexts.units
group by retrievals.cell, retrievals.corpus, retrievals.question_id
"""
_RANKS = """
select
    retrievals.cell, retrievals.corpus, retrievals.question_id, retrievals.representation, retrievals.unit_id,
    retrievals.rank
from retrievals
semi join report_gold
    on
        retrievals.corpus = report_gold.corpus
        and retrievals.question_id = report_gold.question_id
        and retrievals.representation = report_gold.representation
        and retrievals.unit_id = report_gold.unit_id
where retrievals.run_id = $run_id
"""
_ANSWERS = """
select
    answers.cell, answers.corpus, answers.question_id, answers.cutoff_kind, answers.cutoff, answers.repeat,
    answers.text, answers.reason, answers.abstained
from answers
semi join report_asked on answers.corpus = report_asked.corpus and answers.question_id = report_asked.question_id
where answers.run_id = $run_id
order by answers.corpus, answers.question_id, answers.cell, answers.cutoff_kind, answers.cutoff, answers.repeat
"""
_VERDICTS = """
select
    judgements.cell, judgements.corpus, judgements.question_id, judgements.cutoff_kind, judgements.cutoff,
    judgements.repeat, judgements.judge, judgements.judge_repeat, judgements.label_set, judgements.correct,
    judgements.reason, judgements.reply, losses.loss, losses.judge_disputed
from judgements
left join losses
    on
        judgements.run_id = losses.run_id
        and judgements.cell = losses.cell
        and judgements.corpus = losses.corpus
        and judgements.question_id = losses.question_id
        and judgements.cutoff_kind = losses.cutoff_kind
        and judgements.cutoff = losses.cutoff
        and judgements.repeat = losses.repeat
        and judgements.judge = losses.judge
        and judgements.label_set = losses.label_set
        and judgements.judge_repeat = losses.judge_repeat
semi join report_asked on judgements.corpus = report_asked.corpus and judgements.question_id = report_asked.question_id
where judgements.run_id = $run_id
order by judgements.judge, judgements.label_set, judgements.judge_repeat
"""
# Beside the judge that counts only what no judge had a part in: verdicts stand beside their answers.
_SCORES = """
select
    scores.cell, scores.corpus, scores.question_id, scores.metric, scores.judge, avg(scores.value) as value,
    arg_min(scores.reason, scores.repeat) filter (where scores.value is null) as reason
from scores
inner join report_shown on scores.cell = report_shown.cell and scores.corpus = report_shown.corpus
inner join report_labels
    on
        scores.corpus = report_labels.corpus
        and scores.question_id = report_labels.question_id
        and scores.label_set = report_labels.label_set
where
    scores.run_id = $run_id
    and (
        (scores.cutoff_kind = report_shown.cutoff_kind and scores.cutoff = report_shown.cutoff)
        or scores.cutoff_kind = 'none'
    )
    and (scores.judge = '' or (scores.judge = report_shown.judge and scores.metric = $metric))
group by scores.cell, scores.corpus, scores.question_id, scores.metric, scores.judge
"""

_SHOWN = pa.schema(
    [
        ("cell", STRING),
        ("corpus", STRING),
        ("cutoff_kind", STRING),
        ("cutoff", INT),
        ("whole", BOOL),
        ("swapped", BOOL),
        ("judge", STRING),
    ]
)


@dataclass(frozen=True, slots=True)
class BrowserRows:
    """Rows as mappings; of questions, turns and units as the run read them, of the rest as the run made them."""

    questions: list[Row]
    gold: list[Row]
    turns: list[Row]
    touching: list[Row]
    units: list[Row]
    contexts: list[Row]
    shown: list[Row]
    ranks: list[Row]
    answers: list[Row]
    verdicts: list[Row]
    scores: list[Row]


def asked_of(connection: Connection, run_id: str) -> pa.Table:
    """The questions of which a run's contexts are there: corpus, conversation_id, question_id."""
    return connection.sql(_ASKED, params={"run_id": run_id}).to_arrow_table()


def browser_rows(
    connection: Connection, source: Connection, run_id: str, cards: Sequence[CellCard], asked: pa.Table, at: Measure
) -> BrowserRows:
    """What a browser shows of these questions.

    Args:
        connection: the snapshot that holds the run's rows.
        source: the snapshot that the run read, whose texts were searched.
        asked: rows of `asked_of`.
    """
    run: dict[str, object] = {"run_id": run_id}
    for one in (connection, source):
        one.register("report_asked", asked)
    questions = _rows(source, _QUESTIONS, {"label_set": at.label_set})
    labels = _keys(("corpus", "question_id", "label_set"), questions)
    gold = [
        row for row in _rows(source, _GOLD_TURNS) if (row["corpus"], row["question_id"], row["label_set"]) in labels
    ]
    turns = _keys(("corpus", "conversation_id", "ordinal"), gold)
    source.register("report_turns", _table(("corpus", "conversation_id", "ordinal"), turns))
    representations = sorted({name for card in cards for name in card.representations})
    touching = _rows(source, _TOUCHING, {"representations": representations})
    connection.register("report_shown", _shown(cards))
    connection.register("report_labels", _table(("corpus", "question_id", "label_set"), labels))
    contexts = connection.sql(_CONTEXTS, params=run).to_arrow_table()
    connection.register("report_contexts", contexts.select(["cell", "corpus", "question_id", "units"]))
    shown = _rows(connection, _SHOWN_UNITS, run)
    connection.register("report_gold", _gold_units(gold, touching))
    needed = {
        *_keys(("corpus", "representation", "unit_id"), touching),
        *(
            (row["corpus"], representation, unit_id)
            for row in shown
            for representation, unit_id in zip(row["representations"], row["unit_ids"], strict=True)
        ),
    }
    source.register("report_units", _table(("corpus", "representation", "unit_id"), needed))
    return BrowserRows(
        questions=questions,
        gold=gold,
        turns=_rows(source, _TURNS),
        touching=touching,
        units=_rows(source, _UNITS),
        contexts=contexts.to_pylist(),
        shown=shown,
        ranks=_rows(connection, _RANKS, run),
        answers=_rows(connection, _ANSWERS, run),
        verdicts=_rows(connection, _VERDICTS, run),
        scores=_rows(connection, _SCORES, {**run, "metric": at.metric}),
    )


def _gold_units(gold: Sequence[Row], touching: Sequence[Row]) -> pa.Table:
    """Each question with the units that touch a gold turn of it."""
    by_turn: dict[tuple[object, ...], list[tuple[str, str]]] = {}
    for row in touching:
        place = (row["corpus"], row["conversation_id"], row["ordinal"])
        by_turn.setdefault(place, []).append((row["representation"], row["unit_id"]))
    found: set[tuple[object, ...]] = {
        (row["corpus"], row["question_id"], *unit)
        for row in gold
        for unit in by_turn.get((row["corpus"], row["conversation_id"], row["ordinal"]), ())
    }
    return _table(("corpus", "question_id", "representation", "unit_id"), found)


def _shown(cards: Sequence[CellCard]) -> pa.Table:
    rows = [{name: getattr(card, name) for name in _SHOWN.names} for card in cards]
    return pa.Table.from_pylist(rows, schema=_SHOWN)


def _rows(connection: Connection, query: str, values: dict[str, object] | None = None) -> list[Row]:
    found: list[Row] = connection.sql(query, params=values or {}).to_arrow_table().to_pylist()
    return found


def _keys(names: Sequence[str], rows: Sequence[Row]) -> set[tuple[object, ...]]:
    return {tuple(row[name] for name in names) for row in rows}


def _table(names: Sequence[str], rows: set[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*sorted(rows, key=lambda row: tuple(map(str, row))), strict=True)) or [()] * len(names)
    kinds = [INT if name == "ordinal" else STRING for name in names]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list(names))
