"""Fuse steps: the parts of the seed steps become one score a unit."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field

from memlake.transforms.base.arrays import Floats
from memlake.transforms.base.fields import Number
from memlake.transforms.retrieve.steps.step import Part, Search, Seed, Stage, Step

# The order in which these parts are added, so that sums have the bits they always had; others follow by name.
_FIRST = ("dense", "lexical", "sparse", "multi")


class Fuse(Step):
    """A step that makes one score of the seeds' parts."""

    stage: ClassVar[Stage] = "fuse"

    @abstractmethod
    def fused(self, parts: Mapping[str, Part]) -> Floats:
        """The score of every question and unit, of the shape of each part."""

    def apply(self, search: Search) -> Search:
        """Set the score."""
        return replace(search, score=self.fused(search.parts))


class FuseWeighted(Fuse):
    """The sum over seeds of weight times part: cosine and MaxSim as they are, BM25 and token weights as share of max.

    The maximum is over the conversation's units for that question; where it is 0, no unit shares a word with the
    question, and the share is 0. A seed other than dense and lexical has to be given its weight, by its part's name.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number] = Field(init=False)

    adds_up: ClassVar[bool] = True
    step: Literal["fuse_weighted"]
    dense: Number = 0.7
    lexical: Number = 0.3

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each part, in the order in which they are added."""
        weights = {"dense": self.dense, "lexical": self.lexical, **self.__pydantic_extra__}
        order = [*_FIRST, *sorted(weights.keys() - set(_FIRST))]
        return {name: weights[name] for name in order if name in weights}

    def problem(self, seeds: Sequence[Seed]) -> str:
        """See Step: a seed without a weight, or a weight without its seed, which would go without a word."""
        for seed in seeds:
            if not seed.scale:
                return (
                    f"fuse_weighted has no weight for {seed.step}, which only ranks; fuse_rrf adds ranks of any seeds"
                )
            if seed.part not in self.weights:
                return f"fuse_weighted gives {seed.step} no weight: add {seed.part} = 0.3 to it"
        unused = sorted(self.__pydantic_extra__.keys() - {seed.part for seed in seeds})
        return f"fuse_weighted weighs {unused[0]}, and no step seeds it" if unused else ""

    def fused(self, parts: Mapping[str, Part]) -> Floats:
        """See Fuse; parts are added in one fixed order."""
        weighted = [(parts[name], weight) for name, weight in self.weights.items() if name in parts]
        score = np.zeros(weighted[0][0].values.shape)
        for part, weight in weighted:
            score += weight * part.scaled()
        return score


class FuseRrf(Fuse):
    """Reciprocal rank fusion: the sum over seeds of 1 / (k0 + rank).

    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, SIGIR 2009 (k0 = 60). A seed adds nothing to a unit that it
    did not find: one without a vector, or that shares no word or token with the question.
    """

    step: Literal["fuse_rrf"]
    k0: Number = 60.0

    def fused(self, parts: Mapping[str, Part]) -> Floats:
        """See Fuse; parts are added in the order of their names."""
        score = np.zeros(next(iter(parts.values())).values.shape)
        for _, part in sorted(parts.items()):
            found = part.found
            score += np.where(found, 1.0 / (self.k0 + _ranks(np.where(found, part.values, -np.inf))), 0.0)
        return score


def _ranks(part: Floats) -> Floats:
    """Rank of each unit from 1, by descending float32 value; units stand in order of unit_id, so ties go by it."""
    order = np.argsort(-part.astype(np.float32), axis=1, kind="stable")
    ranks = np.empty(part.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, part.shape[1] + 1)[None, :], axis=1)
    return ranks
