"""A retrieval on its way: the questions of one conversation, its store, and what the steps have found so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.retrieve.contexts.shown import Shown
from memlake.transforms.retrieve.contexts.view import View
from memlake.transforms.retrieve.store.store import Store

Matrix = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]
CutoffKind = Literal["tokens", "k", "candidates"]
Stage = Literal["seed", "fuse", "filter", "rank", "expand", "rerank", "show", "swap", "pack"]


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Where contexts end: after a token budget, or after the first k units.

    Attributes:
        candidates: how long the candidate list is that a loss is told by, a context of its own; 0 for none.
    """

    tokens: tuple[int, ...] = ()
    k: tuple[int, ...] = ()
    candidates: int = 0

    def pairs(self) -> list[tuple[CutoffKind, int]]:
        """Every cutoff as (kind, value), token budgets first, the candidate list last."""
        deep: list[tuple[CutoffKind, int]] = [("candidates", self.candidates)] if self.candidates else []
        return [*(("tokens", budget) for budget in self.tokens), *(("k", k) for k in self.k), *deep]


@dataclass(frozen=True, slots=True)
class Search:
    """What a step is given and gives on; a step returns a changed copy.

    Attributes:
        questions: rows of the questions schema, m of them.
        texts: what they ask.
        vectors: what an embedder gave of the questions. None: not embedded.
        tokeniser: what counts the budget.
        evidence: rows of the evidence schema, of these questions. None: not read.
        alone: whether nothing else is asked of the conversation.
        parts: by scorer, shape (m, n): what a seed step gave each unit, NaN where it could not score it.
        score: shape (m, n): what units are ranked by.
        sought: shape (m, n): the only units that a seed step looks for. None: all.
        allowed: shape (m, n): the units that a filter leaves. None: all.
        order: shape (m, n): positions of units in the store, best first; candidates stand before all others.
        listed: shape (m,): how many ranks are candidates; a unit beyond them is neither kept nor shown.
        rerank: shape (m, n): what a reranker gave the units that it was shown, NaN elsewhere. None: it had no part.
        rerank_cut: how many pairs were longer than the reranker's longest input.
        view: which text of a unit is shown, and whether only what is new of it.
        leading: by cutoff, shape (m,): how many leading ranks a context holds.
        shown: what those ranks show.
    """

    store: Store
    questions: pa.Table
    texts: Sequence[str]
    vectors: Outputs | None
    tokeniser: str
    cutoffs: Cutoffs
    evidence: pa.Table | None = None
    alone: bool = False
    parts: Mapping[str, Matrix] = field(default_factory=dict)
    score: Matrix | None = None
    sought: Chosen | None = None
    allowed: Chosen | None = None
    order: Whole | None = None
    listed: Whole | None = None
    rerank: Matrix | None = None
    rerank_cut: int = 0
    view: View = field(default_factory=View)
    leading: Mapping[tuple[CutoffKind, int], Whole] = field(default_factory=dict)
    shown: Shown | None = None


class Step(Protocol):
    """One step of a plan: its fields are its settings, `stage` says where in a plan it may stand."""

    @property
    def stage(self) -> Stage:
        """The stage that the step belongs to."""
        ...

    @property
    def reads(self) -> frozenset[str]:
        """The tables that it reads beside units: provenance, turns, links, evidence."""
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
