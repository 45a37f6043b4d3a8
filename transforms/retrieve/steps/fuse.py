"""Fuse steps: the parts of the seed steps become one score a unit."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from memlake.transforms.retrieve.steps.search import Matrix, Search

# What a unit without a vector counts as: the lowest cosine there is, so that it ranks after every unit that has one.
NO_COSINE = -1.0
# The parts in the order in which they are added, and those that have no upper end of their own.
SCALED = ("dense", "lexical", "sparse", "multi")
_SHARES = ("lexical", "sparse")


@dataclass(frozen=True, slots=True)
class FuseWeighted:
    """The sum over seeds of weight times part: cosine and MaxSim as they are, BM25 and token weights as share of max.

    The maximum is over the conversation's units for that question; where it is 0, no unit shares a word with the
    question, and the share is 0. A seed 'sparse' or 'multi' has to be given its weight; without one there is none.
    """

    stage: ClassVar[Literal["fuse"]] = "fuse"
    reads: ClassVar[frozenset[str]] = frozenset()
    dense: float = 0.7
    lexical: float = 0.3
    sparse: float | None = field(default=None, metadata={"optional": True})
    multi: float | None = field(default=None, metadata={"optional": True})

    def apply(self, search: Search) -> Search:
        """Set the score from the parts, in one fixed order."""
        score = np.zeros((len(search.texts), len(search.store)))
        for name in SCALED:
            weight = getattr(self, name)
            if name in search.parts and weight is not None:
                score += weight * scaled(name, search.parts[name])
        return replace(search, score=score)


@dataclass(frozen=True, slots=True)
class FuseRrf:
    """Reciprocal rank fusion: the sum over seeds of 1 / (k0 + rank).

    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, SIGIR 2009 (k0 = 60). A seed adds nothing to a unit that it
    did not find: one without a vector, or that shares no word or token with the question.
    """

    stage: ClassVar[Literal["fuse"]] = "fuse"
    reads: ClassVar[frozenset[str]] = frozenset()
    k0: float = 60.0

    def apply(self, search: Search) -> Search:
        """Set the score from the ranks in every part, parts in the order of their names."""
        score = np.zeros((len(search.texts), len(search.store)))
        for name in sorted(search.parts):
            part = search.parts[name]
            found = part > 0 if name in _SHARES else ~np.isnan(part)
            score += np.where(found, 1.0 / (self.k0 + _ranks(np.where(found, part, -np.inf))), 0.0)
        return replace(search, score=score)


def scaled(name: str, part: Matrix) -> Matrix:
    """A part on a scale that can be added: from -1 or 0 to 1, and lowest for a unit without a vector."""
    return share_of_maximum(part) if name in _SHARES else cosine_or_lowest(part)


def cosine_or_lowest(dense: Matrix) -> Matrix:
    """The cosines, with NO_COSINE where there is none."""
    return np.where(np.isnan(dense), NO_COSINE, dense)


def share_of_maximum(lexical: Matrix) -> Matrix:
    """Scores of words over the largest of its question, shape kept; 0 where the largest is 0, or there is none."""
    known = np.nan_to_num(lexical, nan=0.0)
    largest = known.max(axis=1, keepdims=True, initial=0.0)
    return known / np.where(largest > 0, largest, 1.0)


def _ranks(part: Matrix) -> Matrix:
    """Rank of each unit from 1, by descending float32 value; units stand in order of unit_id, so ties go by it."""
    order = np.argsort(-part.astype(np.float32), axis=1, kind="stable")
    ranks = np.empty(part.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, part.shape[1] + 1)[None, :], axis=1)
    return ranks
