"""What each cell costs beside what it gets right, from the rows of costs that `statistics` holds."""

import re
from collections.abc import Sequence
from dataclasses import replace

from memlake.transforms.report.data.cells import CellCard, measure_of
from memlake.transforms.report.data.document import Costs, Number, Row
from memlake.transforms.report.data.figures import Tokens
from memlake.transforms.report.data.numbers import Numbers, number
from memlake.transforms.study.study import Measure

_COST = re.compile(r"(usd|tokens|seconds)_")
_DOLLARS = "usd_read_per_question"
_READING = ("tokens_read_per_question", _DOLLARS)
_OF_THE_CELL = ("usd_write", "seconds_local")
_OF_CORRECT = ("usd_per_1000_correct", "usd_per_1000_correct_with_write")
_KEY = ("corpus", "statistic", "metric", "cutoff_kind", "cutoff", "label_set", "judge")


def costs(cards: Sequence[CellCard], numbers: Numbers, tokens: Tokens, at: Measure) -> Costs:
    """Every cost, what each cell costs beside its mean, and a point a cell.

    A point stands at US dollars of reading where two of its corpus have them, and is left out where it has none; else it
    stands at evidence tokens.
    """
    rows = [
        {"cell": row["cell_a"], **{name: row[name] for name in _KEY}, "method": row["method"], **number(row)}
        for row in numbers.rows
        if _COST.match(row["statistic"])
    ]
    cells = [_beside(card, numbers, tokens, at) for card in cards]
    points: list[Row] = []
    for corpus in dict.fromkeys(card.corpus for card in cards):
        here = [cell for cell in cells if cell["corpus"] == corpus and cell["mean"] is not None]
        dollars = [cell["costs"][_DOLLARS]["value"] for cell in here]
        by_dollars = sum(usd is not None for usd in dollars) > 1
        for cell, usd in zip(here, dollars, strict=True):
            cost = usd if by_dollars else cell["evidence_tokens"]
            if cost is None:
                continue
            place = {name: cell[name] for name in ("corpus", "cell", "control", "cutoff_kind", "cutoff", "judge")}
            x = {"x": _DOLLARS if by_dollars else "evidence_tokens", "cost": cost}
            points.append({**place, **x, **cell["mean"]})
    return Costs(rows=rows, cells=[cell | {"mean": cell["mean"] or number(None)} for cell in cells], points=points)


def _beside(card: CellCard, numbers: Numbers, tokens: Tokens, at: Measure) -> Row:
    """A cell's mean and its costs, each at the same cutoff, under the same labels, by the same judge, where it has one."""
    own = measure_of(card, at)
    mean = numbers.find("mean", card.corpus, own, card.cell)
    reading = Measure("", own.cutoff_kind, own.cutoff, label_set="", judge="")
    whole = replace(reading, cutoff_kind="none", cutoff=0)

    def of(names: Sequence[str], measure: Measure) -> dict[str, Number]:
        return {name: number(numbers.find(name, card.corpus, measure, card.cell)) for name in names}

    return {
        "corpus": card.corpus,
        "cell": card.cell,
        "control": card.control,
        "cutoff_kind": own.cutoff_kind,
        "cutoff": own.cutoff,
        "judge": own.judge,
        "mean": None if mean is None else number(mean),
        "evidence_tokens": tokens.get((card.corpus, card.cell, own.cutoff_kind, own.cutoff)),
        "costs": {**of(_READING, reading), **of(_OF_THE_CELL, whole), **of(_OF_CORRECT, own)},
    }
