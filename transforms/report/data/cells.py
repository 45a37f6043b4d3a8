"""The cells of a run as a report shows them, at which cutoff each is shown, and the numbers of rows as it gives them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from memlake.transforms.report.data.document import At, Number, Row
from memlake.transforms.study.study import Measure, Study, StudyCell

_AT = ("metric", "cutoff_kind", "cutoff", "label_set", "judge")
_KEY = ("statistic", "corpus", "comparison", "cell_a", "cell_b", *_AT, "slice")
MISSING = "missing: the run's statistics hold no such row"


class Numbers:
    """Statistics of one run, by their key."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._found = {tuple(row[name] for name in _KEY): row for row in self.rows}

    def of(self, *statistics: str, every_slice: bool = False) -> list[Row]:
        """The rows of some statistics over all questions, or over every slice of them."""
        return [row for row in self.rows if row["statistic"] in statistics and (every_slice or row["slice"] == "all")]

    def find(
        self,
        statistic: str,
        corpus: str,
        at: Measure,
        cell_a: str,
        *,
        cell_b: str = "",
        comparison: str = "",
        which: str = "all",
    ) -> Row | None:
        """The row of a statistic; None where the run has none."""
        return self._found.get(
            (statistic, corpus, comparison, cell_a, cell_b, *(getattr(at, name) for name in _AT), which)
        )


def number(row: Mapping[str, Any] | None) -> Number:
    """A row as a number; where there is none, a number without a value that says so."""
    if row is None:
        return Number(value=None, low=None, high=None, n=0, excluded=0, clusters=0, note=MISSING)
    return Number(
        value=row["value"],
        low=row["low"],
        high=row["high"],
        n=row["n"],
        excluded=row["excluded_a"],
        clusters=row["clusters"],
        note=row["note"],
    )


def at_of(measure: Measure) -> At:
    """A measure as the document writes it."""
    return cast("At", asdict(measure))


# What a plan changes so that its contexts are no longer the leading units, whole and in order of rank.
_RESHAPES = ("show", "merge", "project", "swap")


@dataclass(frozen=True, slots=True)
class CellCard:
    """One cell on one corpus.

    Attributes:
        control: 'random', 'gold', 'full' or 'nothing' for a bound, by the steps of its plan; '' for a retrieval.
        whole: whether a context is its leading units, each whole, by rank; else its stored text alone says what is shown.
        changes: steps of its plan that show something else than the stored text of its own units.
        swapped: whether a question is shown the context of another one.
        cutoff_kind, cutoff: where the context ends that the report shows of it.
        judge: whose verdict counts here: the headline's where it judges this corpus, else the first that does.
    """

    cell: str
    corpus: str
    representations: tuple[str, ...]
    reader: str
    control: str
    whole: bool
    changes: tuple[str, ...]
    swapped: bool
    cutoff_kind: str
    cutoff: int
    judge: str

    def row(self, *names: str) -> Row:
        """Some of its fields, as a document holds them."""
        values = {name: getattr(self, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def card_of(study: Study, row: Row) -> CellCard:
    """A row of `cells` as a card."""
    steps = json.loads(row["plan"])
    changes = tuple(dict.fromkeys(step["step"] for step in steps if step["step"] in _RESHAPES))
    pack: Row = next((step for step in steps if step["step"] == "pack"), {})
    kind, cutoff = cutoff_shown(study, study.cell(row["cell"]))
    judges = [judge.name for judge in study.judges_of(row["corpus"])]
    headline_judge = study.headline.judge
    return CellCard(
        cell=row["cell"],
        corpus=row["corpus"],
        representations=tuple(row["representations"]),
        reader=row["reader"],
        control=control_of(steps),
        whole=not changes and pack.get("order", "score") == "score",
        changes=changes,
        swapped="swap" in changes,
        cutoff_kind=kind,
        cutoff=cutoff,
        judge=headline_judge if headline_judge in ("", *judges) else next(iter(judges), headline_judge),
    )


def measure_of(card: CellCard, at: Measure) -> Measure:
    """The measure at the cutoff that is shown of a cell, by its judge; one of the whole store is of no cutoff."""
    if at.cutoff_kind == "none":
        return replace(at, judge=card.judge)
    return replace(at, cutoff_kind=card.cutoff_kind, cutoff=card.cutoff, judge=card.judge)


def control_of(steps: list[Row]) -> str:
    """Which bound a plan is: chance, the gold turns, everything, nothing; '' for a plan that searches."""
    if any(step["step"] == "pack" and step.get("most") == 0 for step in steps):
        return "nothing"
    for step, name in (("seed_random", "random"), ("seed_gold", "gold"), ("seed_time", "full")):
        if any(each["step"] == step for each in steps):
            return name
    return ""


def cutoff_shown(study: Study, cell: StudyCell) -> tuple[str, int]:
    """Where the context ends that a report shows: at the headline, else where the reader is asked, else the first cutoff."""
    own = study.cutoffs_of(cell).pairs
    headline = (study.headline.cutoff_kind, study.headline.cutoff)
    if headline in own:
        return headline
    return next(iter([*study.answered(cell).pairs, *own]), ("none", 0))
