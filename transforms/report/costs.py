"""What each cell costs beside what it gets right, from the rows of costs that `statistics` holds."""

import re
from collections.abc import Sequence

from transforms.report.cells import CellCard, measure_of
from transforms.report.document import Costs, Row
from transforms.report.figures import Tokens
from transforms.report.numbers import Numbers, number
from transforms.study.study import Measure

_COST = re.compile(r"(usd|tokens|seconds)_")
_DOLLARS = "usd_read_per_question"


def costs(cards: Sequence[CellCard], numbers: Numbers, tokens: Tokens, at: Measure) -> Costs:
    """Every cost, and a point a cell: US dollars of reading where every point has them, else evidence tokens."""
    rows = [
        {
            **_place(row),
            "cutoff_kind": row["cutoff_kind"],
            "cutoff": row["cutoff"],
            "statistic": row["statistic"],
            "label_set": row["label_set"],
            "judge": row["judge"],
            "method": row["method"],
            **number(row),
        }
        for row in numbers.rows
        if _COST.match(row["statistic"])
    ]
    usd: dict[tuple[str, str, str, int], float] = {
        (row["corpus"], row["cell"], row["cutoff_kind"], row["cutoff"]): row["value"]
        for row in rows
        if row["statistic"] == _DOLLARS and row["value"] is not None
    }
    points: list[Row] = []
    for corpus in dict.fromkeys(card.corpus for card in cards):
        here = [(card, (corpus, card.cell, card.cutoff_kind, card.cutoff)) for card in cards if card.corpus == corpus]
        by_dollars = sum(place in usd for _, place in here) > 1
        known = usd if by_dollars else tokens
        for card, place in here:
            mean = numbers.find("mean", corpus, measure_of(card, at), card.cell)
            if mean is None or place not in known:
                continue
            name = _DOLLARS if by_dollars else "evidence_tokens"
            point = {"corpus": corpus, "cell": card.cell, "control": card.control, "x": name, "cost": known[place]}
            points.append(point | number(mean))
    return Costs(rows=rows, points=points)


def _place(row: Row) -> Row:
    """Corpus and cell of a cost; local seconds are of no corpus, and may name theirs as CORPUS/CELL."""
    corpus, _, cell = row["cell_a"].rpartition("/")
    return {"corpus": row["corpus"] or corpus, "cell": cell}
