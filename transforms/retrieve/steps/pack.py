"""Pack step: how many leading units each context holds, and in which order it shows them."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.fields import CountOrNone
from memlake.transforms.retrieve.contexts.shown import show
from memlake.transforms.retrieve.steps.step import CutoffKind, Search, Stage, Step, later
from memlake.transforms.retrieve.store.chance import chance


class Pack(Step):
    """Units in rank order: the first k, or while the running sum of their cost stays within the budget.

    The first unit that does not fit ends the context, even when a later, smaller one would fit. `order` says how the text
    of the very same units stands: by rank, by place in the source (ties by unit_id), or at random. In time order slices
    that a merge step left side by side are joined behind one header; their cost stays that of the pieces before.

    Attributes:
        most: at most so many units, whatever the cutoff; 0 shows nothing: the question alone. The candidate list, which no
            reader sees, has every candidate all the same.
        seed: of the random order.
    """

    stage: ClassVar[Stage] = "pack"
    adds_up: ClassVar[bool] = True
    step: Literal["pack"]
    order: Literal["score", "time", "random"] = later("score")
    most: CountOrNone | None = later(None)
    seed: CountOrNone = later(0)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Provenance, to know what comes first in time."""
        return frozenset({"provenance"} if self.order == "time" else ())

    def apply(self, search: Search) -> Search:
        """Set, for every cutoff, how many leading ranks its contexts hold, and what these show.

        Raises:
            UsageError: the store lacks what the order or the view needs.
            NotFoundError: the tokeniser is not here.
        """
        assert search.order is not None
        assert search.listed is not None
        shown = show(search.store, search.view, search.order, search.tokeniser)
        if self.order == "time":
            shown = shown.in_time()
        elif self.order == "random":
            shown = shown.at_random(chance(search.questions, search.store, self.seed))
        most = search.listed if self.most is None else np.minimum(search.listed, self.most)
        leading: dict[tuple[CutoffKind, int], Ints] = {}
        for kind, cutoff in search.cutoffs.pairs:
            # No unit costs less than 0, so the running sum never falls and the fitting ranks are the leading ones.
            fits = np.count_nonzero(shown.running[:, 1:] <= cutoff, axis=1) if kind == "tokens" else np.int64(cutoff)
            leading[kind, cutoff] = np.minimum(fits, search.listed if kind == "candidates" else most).astype(np.int64)
        return replace(search, leading=leading, shown=shown)
