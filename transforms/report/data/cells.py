"""The cells of a run as a report shows them: what each searches, which of them are bounds, and at which cutoff each is shown."""

import json
from dataclasses import dataclass, replace

from memlake.transforms.report.data.document import Row
from memlake.transforms.study.study import Measure, Study, StudyCell

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


def card_of(study: Study, row: Row) -> CellCard:
    """A row of `cells` as a card."""
    steps = json.loads(row["plan"])
    changes = tuple(dict.fromkeys(step["step"] for step in steps if step["step"] in _RESHAPES))
    pack: Row = next((step for step in steps if step["step"] == "pack"), {})
    kind, cutoff = cutoff_shown(study, study.cell(row["cell"]))
    judges = [judge.name for judge in study.judges_of(row["corpus"])]
    wanted = study.headline.judge
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
        judge=wanted if not wanted or wanted in judges else next(iter(judges), wanted),
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
    own = study.cutoffs_of(cell).pairs()
    headline = (study.headline.cutoff_kind, study.headline.cutoff)
    if headline in own:
        return headline
    return next(iter([*study.answered(cell).pairs(), *own]), ("none", 0))
