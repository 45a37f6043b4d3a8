"""Pack step: how many leading units each context holds."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from transforms.retrieve.search import CutoffKind, Search


@dataclass(frozen=True, slots=True)
class Pack:
    """Units in rank order: the first k, or while the running sum of their cost stays within the budget.

    The first unit that does not fit ends the context, even when a later, smaller one would fit.
    """

    stage: ClassVar[Literal["pack"]] = "pack"

    def apply(self, search: Search) -> Search:
        """Set, for every cutoff, how many leading ranks its contexts hold."""
        assert search.order is not None
        running = np.cumsum(search.unit_costs[search.order], axis=1)
        leading: dict[tuple[CutoffKind, int], npt.NDArray[np.int64]] = {}
        for kind, cutoff in search.cutoffs.pairs():
            if kind == "tokens":
                # Every unit costs at least 1, so the running sum rises and the fitting ranks are the leading ones.
                leading[kind, cutoff] = np.count_nonzero(running <= cutoff, axis=1).astype(np.int64)
            else:
                leading[kind, cutoff] = np.full(len(search.texts), min(cutoff, len(search.store)), np.int64)
        return replace(search, leading=leading)
