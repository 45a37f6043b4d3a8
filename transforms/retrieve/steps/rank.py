"""Rank step: units by descending score, ties by unit_id ascending."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from memlake.transforms.base.fields import CountOrNone, Number
from memlake.transforms.retrieve.steps.step import Search, Stage, Step, later


class Rank(Step):
    """Order the units of the conversation; a score is a float64 rounded to float32, and a tie is equality of those.

    Without a fuse step the one seed is the score; a unit without a vector then ranks last. A unit that a filter took out,
    or that the seed does not look for, is no candidate.

    Attributes:
        candidates: only the best so many are candidates; 0: nothing is.
        above: only units that score more than this are.
    """

    stage: ClassVar[Stage] = "rank"
    adds_up: ClassVar[bool] = True
    step: Literal["rank"]
    candidates: CountOrNone | None = later(None)
    above: Number | None = later(None)

    def apply(self, search: Search) -> Search:
        """Set score (rounded), order and how many ranks are candidates."""
        score = search.score
        if score is None:
            (part,) = search.parts.values()
            score = part.whole()
        rounded = score.astype(np.float32)
        shut = [~chosen for chosen in (search.sought, search.allowed) if chosen is not None]
        if self.above is not None:
            shut.append(rounded <= self.above)
        worst = -rounded
        for closed in shut:
            worst[closed] = np.inf
        # The store is sorted by unit_id, so a stable sort leaves ties in that order.
        order = np.argsort(worst, axis=1, kind="stable")
        listed = np.full(len(rounded), rounded.shape[1]) if not shut else np.count_nonzero(worst < np.inf, axis=1)
        if self.candidates is not None:
            listed = np.minimum(listed, self.candidates)
        return replace(search, score=rounded.astype(np.float64), order=order, listed=listed.astype(np.int64))
