"""Where answers are lost: verdicts by loss class, and without a reader what is stored and shown of the answers."""

from collections.abc import Sequence

import duckdb

from transforms.report.cells import CellCard
from transforms.report.document import Row
from transforms.report.numbers import Numbers, at_of
from transforms.study.study import Measure

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


def survival_split(cards: Sequence[CellCard], numbers: Numbers, *, label_set: str) -> list[Row]:
    """Without a reader: which share of answers is shown whole, stored and not shown, and not stored, by cell.

    The shares are two means of `statistics` and what lies between them; only where both are of as many questions.
    """
    made = []
    for card in cards:
        shown_at = Measure("answer_survival_all", card.cutoff_kind, card.cutoff, label_set)
        shown = numbers.find("mean", card.corpus, shown_at, card.cell)
        stored = numbers.find("mean", card.corpus, Measure("store_survival_all", "none", 0, label_set), card.cell)
        if shown is None or stored is None or None in (shown["value"], stored["value"]) or shown["n"] != stored["n"]:
            continue
        # A plan that shows turns, or another question's context, may show what the store does not hold.
        if shown["value"] > stored["value"]:
            continue
        made.append(
            {
                "corpus": card.corpus,
                "cell": card.cell,
                "control": card.control,
                "at": at_of(shown_at),
                "n": shown["n"],
                "excluded": shown["excluded_a"],
                "shown": shown["value"],
                "stored_not_shown": stored["value"] - shown["value"],
                "not_stored": 1 - stored["value"],
            }
        )
    return made
