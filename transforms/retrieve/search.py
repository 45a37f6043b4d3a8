"""A retrieval on its way: the questions of one conversation, its store, and what the steps have found so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from transforms.errors import UsageError
from transforms.retrieve.outputs import Outputs
from transforms.retrieve.store import Store

Matrix = npt.NDArray[np.float64]
CutoffKind = Literal["tokens", "k"]


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Where contexts end: after a token budget, or after the first k units."""

    tokens: tuple[int, ...] = ()
    k: tuple[int, ...] = ()

    def pairs(self) -> list[tuple[CutoffKind, int]]:
        """Every cutoff as (kind, value), token budgets first."""
        return [*(("tokens", budget) for budget in self.tokens), *(("k", k) for k in self.k)]


@dataclass(frozen=True, slots=True)
class Search:
    """What a step is given and gives on; a step returns a changed copy.

    Attributes:
        texts: the questions, m of them.
        vectors: what an embedder gave of the questions. None: not embedded.
        unit_costs: shape (n,): what each unit's show_text costs.
        parts: by scorer, shape (m, n): what a seed step gave each unit, NaN where it could not score it.
        score: shape (m, n): what units are ranked by.
        order: shape (m, n): positions of units in the store, best first.
        rerank: shape (m, n): what a reranker gave the units that it was shown, NaN elsewhere. None: it had no part.
        rerank_cut: how many pairs were longer than the reranker's longest input.
        leading: by cutoff, shape (m,): how many leading ranks a context holds.
    """

    store: Store
    texts: Sequence[str]
    vectors: Outputs | None
    unit_costs: npt.NDArray[np.int64]
    cutoffs: Cutoffs
    parts: Mapping[str, Matrix] = field(default_factory=dict)
    score: Matrix | None = None
    order: npt.NDArray[np.int64] | None = None
    rerank: Matrix | None = None
    rerank_cut: int = 0
    leading: Mapping[tuple[CutoffKind, int], npt.NDArray[np.int64]] = field(default_factory=dict)


class Step(Protocol):
    """One step of a plan: its fields are its settings, `stage` says where in a plan it may stand."""

    @property
    def stage(self) -> Literal["seed", "fuse", "rank", "rerank", "pack"]:
        """The stage that the step belongs to."""
        ...

    def apply(self, search: Search) -> Search:
        """The search with this step done."""
        ...


def needed(search: Search, step: str, output: str) -> tuple[Outputs, Outputs]:
    """An embedder's outputs of the questions and of the units, one kind of which a step needs.

    Raises:
        UsageError: the store or the questions do not have it.
    """
    asked, stored = search.vectors, search.store.vectors
    if asked is None or stored is None or output not in asked.kinds & stored.kinds:
        there = {"units": stored, "questions": asked}
        have = ", ".join(
            f"{who} {'have them' if one is not None and output in one.kinds else 'have none'}"
            for who, one in there.items()
        )
        what = "vectors" if output == "dense" else f"{output} outputs"
        raise UsageError(
            f"step={step!r} needs {what}: {have}",
            hint=f"memlake embed --embedder {_GIVES[output]}, or leave the step out of the plan",
        )
    return asked, stored


_GIVES = {"dense": "NAME", "sparse": "bge-m3", "multi": "bge-m3-multi"}
