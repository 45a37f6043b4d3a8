"""Where answers are lost: verdicts by loss class, and without a reader what is stored and shown of the answers."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from memlake.schemas.table import INT, STRING
from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Row
from memlake.transforms.report.data.numbers import at_of
from memlake.transforms.study.study import Measure

# In the order in which an answer may be lost; `unclassified` is a wrong verdict that `losses` has no row of.
LOSSES = (
    "not_in_source",
    "not_stored",
    "not_retrieved",
    "packed_out",
    "misread",
    "failed_abstention",
    "unclassified",
)

_VERDICTS = """
select
    corpus, cell, cutoff_kind, cutoff, judge, label_set,
    count(correct) as judged,
    count(*) filter (where correct) as correct,
    count(*) - count(correct) as excluded
from judgements
where run_id = $run_id
group by corpus, cell, cutoff_kind, cutoff, judge, label_set
order by corpus, cutoff_kind, cutoff, label_set, judge, cell
"""
_LOSSES = """
select
    corpus, cell, cutoff_kind, cutoff, judge, label_set, loss,
    count(*) as wrong,
    count(*) filter (where judge_disputed) as disputed
from losses
where run_id = $run_id and loss is not null
group by corpus, cell, cutoff_kind, cutoff, judge, label_set, loss
"""
# Two scores of the same question under the same labels: of its context, and of the whole store.
_SPLIT = """
select
    shown.corpus, shown.cell,
    count(*) as asked,
    count(shown.value + stored.value) as n,
    count(*) filter (where shown.value = 1 and stored.value = 1) as shown,
    count(*) filter (where shown.value < 1 and stored.value = 1) as stored_not_shown,
    count(*) filter (where shown.value is not null and stored.value < 1) as not_stored,
    count(*) filter (where shown.value = 1 and stored.value < 1) as beside
from scores as shown
inner join report_split
    on
        shown.corpus = report_split.corpus
        and shown.cell = report_split.cell
        and shown.cutoff_kind = report_split.cutoff_kind
        and shown.cutoff = report_split.cutoff
inner join scores as stored
    on
        shown.run_id = stored.run_id
        and shown.corpus = stored.corpus
        and shown.cell = stored.cell
        and shown.question_id = stored.question_id
        and shown.label_set = stored.label_set
where
    shown.run_id = $run_id
    and shown.label_set = $label_set
    and shown.metric = 'answer_survival_all'
    and stored.metric = 'store_survival_all'
group by shown.corpus, shown.cell
"""
_CELLS = pa.schema([("corpus", STRING), ("cell", STRING), ("cutoff_kind", STRING), ("cutoff", INT)])
_NO_SCORES: Row = {"asked": 0, "n": 0, "beside": 0}
_PLACE = ("corpus", "cell", "cutoff_kind", "cutoff", "judge", "label_set")


def loss_bars(
    connection: duckdb.DuckDBPyConnection, run_id: str, cards: Sequence[CellCard], judges: Sequence[str]
) -> list[Row]:
    """A bar for each cell, cutoff, judge and label set: counts of verdicts, the correct ones among them; repeats count.

    Args:
        cards, judges: in which order the bars come.
    """
    wrong: dict[tuple[object, ...], Row] = {}
    for row in connection.sql(_LOSSES, params={"run_id": run_id}).to_arrow_table().to_pylist():
        held = wrong.setdefault(tuple(row[name] for name in _PLACE), {"counts": {}, "disputed": 0})
        held["counts"][row["loss"]] = row["wrong"]
        held["disputed"] += row["disputed"]
    bars = []
    for row in connection.sql(_VERDICTS, params={"run_id": run_id}).to_arrow_table().to_pylist():
        held = wrong.get(tuple(row[name] for name in _PLACE), {"counts": {}, "disputed": 0})
        counts = {"correct": row["correct"], **held["counts"]}
        if rest := row["judged"] - sum(counts.values()):
            counts["unclassified"] = rest
        bars.append({**row, "counts": counts, "disputed": held["disputed"]})
    order = {(card.corpus, card.cell): place for place, card in enumerate(cards)}
    places = {judge: place for place, judge in enumerate(judges)}
    return sorted(bars, key=lambda bar: (places.get(bar["judge"], len(places)), order[bar["corpus"], bar["cell"]]))


def survival_split(
    connection: duckdb.DuckDBPyConnection, run_id: str, cards: Sequence[CellCard], *, label_set: str
) -> list[Row]:
    """Without a reader: which share of answers is shown whole, stored and not shown, and not stored, by cell.

    Counted by question. A cell of which the three are no parts of one whole has no shares, and `why` says so: one whose
    plan shows other text than it searched, and one of which a context held what its units do not.
    """
    connection.register("report_split", _cells(cards))
    values = {"run_id": run_id, "label_set": label_set}
    rows = connection.sql(_SPLIT, params=values).to_arrow_table().to_pylist()
    found = {(row["corpus"], row["cell"]): row for row in rows}
    return [_split(card, found.get((card.corpus, card.cell), _NO_SCORES), label_set) for card in cards]


def _split(card: CellCard, row: Row, label_set: str) -> Row:
    n = row["n"]
    why = ""
    if card.changes:
        why = f"its plan shows other text than it searched ({', '.join(card.changes)})"
    elif not n:
        why = "no question has both scores here"
    elif row["beside"]:
        why = f"{row['beside']:,} contexts hold an answer that its units do not"
    return {
        "corpus": card.corpus,
        "cell": card.cell,
        "control": card.control,
        "at": at_of(Measure("answer_survival_all", card.cutoff_kind, card.cutoff, label_set)),
        "n": n,
        "excluded": row["asked"] - n,
        "shown": None if why else row["shown"] / n,
        "stored_not_shown": None if why else row["stored_not_shown"] / n,
        "not_stored": None if why else row["not_stored"] / n,
        "why": why,
    }


def _cells(cards: Sequence[CellCard]) -> pa.Table:
    """Each cell and the cutoff at which it is shown."""
    rows = [{name: getattr(card, name) for name in _CELLS.names} for card in cards]
    return pa.Table.from_pylist(rows, schema=_CELLS)
