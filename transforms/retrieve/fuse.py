"""Fuse steps: the parts of the seed steps become one score a unit."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from transforms.retrieve.search import Matrix, Search

# What a unit without a vector counts as: the lowest cosine there is, so that it ranks after every unit that has one.
NO_COSINE = -1.0


@dataclass(frozen=True, slots=True)
class FuseWeighted:
    """dense * cosine + lexical * BM25 / max, where max is over the conversation's units for that question.

    Where no unit shares a word with the question, max is 0 and the lexical share is 0.
    """

    stage: ClassVar[Literal["fuse"]] = "fuse"
    dense: float = 0.7
    lexical: float = 0.3

    def apply(self, search: Search) -> Search:
        """Set the score from the parts 'dense' and 'lexical', in that fixed order."""
        score = self.dense * cosine_or_lowest(search.parts["dense"])
        score += self.lexical * share_of_maximum(search.parts["lexical"])
        return replace(search, score=score)


@dataclass(frozen=True, slots=True)
class FuseRrf:
    """Reciprocal rank fusion: the sum over seeds of 1 / (k0 + rank).

    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, SIGIR 2009 (k0 = 60). A seed adds nothing to a unit that it
    did not find: one without a vector, or with BM25 0.
    """

    stage: ClassVar[Literal["fuse"]] = "fuse"
    k0: float = 60.0

    def apply(self, search: Search) -> Search:
        """Set the score from the ranks in every part, parts in the order of their names."""
        score = np.zeros((len(search.texts), len(search.store)))
        for name in sorted(search.parts):
            part = search.parts[name]
            found = part > 0 if name == "lexical" else ~np.isnan(part)
            score += np.where(found, 1.0 / (self.k0 + _ranks(np.where(found, part, -np.inf))), 0.0)
        return replace(search, score=score)


def cosine_or_lowest(dense: Matrix) -> Matrix:
    """The cosines, with NO_COSINE where there is none."""
    return np.where(np.isnan(dense), NO_COSINE, dense)


def share_of_maximum(lexical: Matrix) -> Matrix:
    """BM25 over the largest of its question, shape kept; 0 where the largest is 0."""
    largest = lexical.max(axis=1, keepdims=True, initial=0.0)
    return lexical / np.where(largest > 0, largest, 1.0)


def _ranks(part: Matrix) -> Matrix:
    """Rank of each unit from 1, by descending float32 value; units stand in order of unit_id, so ties go by it."""
    order = np.argsort(-part.astype(np.float32), axis=1, kind="stable")
    ranks = np.empty(part.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, part.shape[1] + 1)[None, :], axis=1)
    return ranks
