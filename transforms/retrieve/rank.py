"""Rank step: units by descending score, ties by unit_id ascending."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from transforms.retrieve.fuse import cosine_or_lowest
from transforms.retrieve.search import Search


@dataclass(frozen=True, slots=True)
class Rank:
    """Order every unit of the conversation; a score is a float64 rounded to float32, and a tie is equality of those.

    Without a fuse step the one seed is the score; a unit without a vector then ranks last.
    """

    stage: ClassVar[Literal["rank"]] = "rank"

    def apply(self, search: Search) -> Search:
        """Set score (rounded) and order."""
        score = search.score
        if score is None:
            ((name, part),) = search.parts.items()
            score = cosine_or_lowest(part) if name in ("dense", "multi") else np.nan_to_num(part, nan=0.0)
        rounded = score.astype(np.float32)
        # The store is sorted by unit_id, so a stable sort leaves ties in that order.
        order = np.argsort(-rounded, axis=1, kind="stable")
        return replace(search, score=rounded.astype(np.float64), order=order)
