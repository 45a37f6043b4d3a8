"""Where answers are lost: verdicts by loss class, and without a reader what is stored and shown of the answers."""

from collections.abc import Sequence

import duckdb

from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Row
from memlake.transforms.report.data.numbers import at_of
from memlake.transforms.study.study import Measure

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
select corpus, cell, cutoff_kind, cutoff, judge, label_set, loss, wrong, disputed from loss_counts
where run_id = $run_id and category is null
order by all
"""
_SPLIT = "select * from survival_split where run_id = $run_id and label_set = $label_set"
_NO_SCORES: Row = {"asked": 0, "n": 0, "beside": 0}
_PLACE = ("corpus", "cell", "cutoff_kind", "cutoff", "judge", "label_set")


def loss_bars(
    connection: duckdb.DuckDBPyConnection, run_id: str, cards: Sequence[CellCard], judges: Sequence[str]
) -> list[Row]:
    """A bar for each cell, cutoff, judge and label set: counts of verdicts, the correct ones among them; repeats count.

    `unclassified` is a wrong verdict that `losses` has no row of.

    Args:
        cards, judges: in which order the bars come.
    """
    wrong: dict[tuple[object, ...], list[Row]] = {}
    for row in connection.sql(_LOSSES, params={"run_id": run_id}).to_arrow_table().to_pylist():
        wrong.setdefault(tuple(row[name] for name in _PLACE), []).append(row)
    bars = []
    for row in connection.sql(_VERDICTS, params={"run_id": run_id}).to_arrow_table().to_pylist():
        lost = wrong.get(tuple(row[name] for name in _PLACE), [])
        counts = {"correct": row["correct"], **{loss["loss"]: loss["wrong"] for loss in lost}}
        if rest := row["judged"] - sum(counts.values()):
            counts["unclassified"] = rest
        bars.append({**row, "counts": counts, "disputed": sum(loss["disputed"] for loss in lost)})
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
    rows = connection.sql(_SPLIT, params={"run_id": run_id, "label_set": label_set}).to_arrow_table().to_pylist()
    found = {tuple(row[name] for name in ("corpus", "cell", "cutoff_kind", "cutoff")): row for row in rows}
    return [
        _split(card, found.get((card.corpus, card.cell, card.cutoff_kind, card.cutoff), _NO_SCORES), label_set)
        for card in cards
    ]


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
        **{name: None if why else row[name] / n for name in ("shown", "stored_not_shown", "not_stored")},
        "why": why,
    }
