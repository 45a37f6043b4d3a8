"""How much of a result is the step's own chance: spread between repeats, and variance components.

The components are those of a balanced nested random-effects model, question / extraction / reader / judge, estimated by
equating mean squares to their expectations (Searle, Casella and McCulloch, Variance Components, 1992, 3.6). An estimate
below 0 is 0. The last step that is repeated holds what is left over. What an extraction does to all questions alike is part
of its component.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memlake.transforms.base.arrays import Bools, Floats, Ints
from memlake.transforms.score.statistics.series import few_clusters, notes, row_of

STEPS = ("question", "extraction", "reader", "judge")
_METHOD = "standard deviation (n - 1) between the means of {} repeats, on the questions that each of them scored"
_NESTED = "balanced nested random effects, {}, by mean squares; an estimate below 0 is 0"
_TRUNCATED = "truncated: the estimate was below 0"
_NO_COMMON = "no_scores: no question was scored in every repeat"


@dataclass(frozen=True)
class Grid:
    """Values by question and by repeat of each step: shape (questions, extractions, readers, judges), NaN for missing.

    Attributes:
        common: the columns that say what the rows are of.
        cluster_of: by question.
    """

    common: dict[str, object]
    cluster_of: Ints
    values: Floats

    @property
    def complete(self) -> Bools:
        """Which questions have a value in every repeat."""
        return np.asarray(np.isfinite(self.values).all(axis=(1, 2, 3)))


def spread_row(grid: Grid, step: str) -> Iterator[dict[str, object]]:
    """The row sd_STEP; nothing when the step was not repeated."""
    axis = STEPS.index(step)
    repeats = grid.values.shape[axis]
    if repeats < 2:
        return
    values = grid.values[grid.complete]
    others = tuple(other for other in range(4) if other != axis)
    means = values.mean(axis=others) if len(values) else np.full(repeats, np.nan)
    yield row_of(
        **grid.common
        | _counted(grid)
        | {
            "statistic": f"sd_{step}",
            "value": np.std(means, ddof=1),
            "method": _METHOD.format(repeats),
            "note": None if len(values) else _NO_COMMON,
        }
    )


def component_rows(grid: Grid) -> Iterator[dict[str, object]]:
    """Rows var_STEP for the questions and for every step that was repeated; nothing when none was."""
    levels = [axis for axis in range(4) if axis == 0 or grid.values.shape[axis] > 1]
    if len(levels) < 2:
        return
    values = grid.values[grid.complete]
    found = components(values) if len(values) > 1 else dict.fromkeys((STEPS[axis] for axis in levels), np.nan)
    shape = ", ".join(f"{STEPS[axis]} x {values.shape[axis]}" for axis in levels)
    counted = _counted(grid)
    # There is no interval here that could be too short, so the name of the note is enough.
    few = "few_clusters" if few_clusters(counted["clusters"]) else ""
    for step, value in found.items():
        said = "" if len(values) > 1 else _NO_COMMON
        yield row_of(
            **grid.common
            | counted
            | {
                "statistic": f"var_{step}",
                "value": max(value, 0.0) if np.isfinite(value) else value,
                "method": _NESTED.format(shape),
                "note": notes(few, said or (_TRUNCATED if value < 0 else "")),
            }
        )


def components(values: Floats) -> dict[str, float]:
    """Variance components by step, of the questions and of each step that was repeated; negative ones as they are.

    Args:
        values: shape (questions, extractions, readers, judges), complete, at least two questions.
    """
    levels = [axis for axis in range(4) if axis == 0 or values.shape[axis] > 1]
    squared, sizes = [], []
    above = values.mean()
    for place, axis in enumerate(levels):
        inner = tuple(range(axis + 1, 4))
        means = values.mean(axis=inner, keepdims=True)
        groups = int(np.prod([values.shape[outer] for outer in levels[:place]]))
        freedom = groups * (values.shape[axis] - 1)
        size = int(np.prod([values.shape[below] for below in inner]))
        squared.append(size * float(np.sum((means - above) ** 2)) / freedom)
        sizes.append(size)
        above = means
    return {
        STEPS[axis]: (squared[place] - (squared[place + 1] if place + 1 < len(levels) else 0.0)) / sizes[place]
        for place, axis in enumerate(levels)
    }


def stacked(blocks: Sequence[Floats]) -> Floats:
    """Grids of single extractions as one: shape (questions, extractions, readers, judges)."""
    readers, judges = (max(block.shape[axis] for block in blocks) for axis in (2, 3))
    made = np.full((blocks[0].shape[0], len(blocks), readers, judges), np.nan)
    for place, block in enumerate(blocks):
        made[:, place, : block.shape[2], : block.shape[3]] = block[:, 0]
    return made


def _counted(grid: Grid) -> dict[str, Any]:
    complete = grid.complete
    there = np.isfinite(grid.values).any(axis=(1, 2, 3))
    return {
        "slice": "all",
        "n": complete.sum(),
        "excluded_a": np.sum(there & ~complete),
        "clusters": len(np.unique(grid.cluster_of[complete])),
    }
