"""A retrieval on its way: the questions of one conversation, its store, and what the steps have found so far."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from memlake.transforms.base.arrays import Bools, Floats, Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.llm.protocol.model import Reply, Request
from memlake.transforms.retrieve.contexts.shown import Shown, View
from memlake.transforms.retrieve.store.store import Store

if TYPE_CHECKING:
    from memlake.transforms.llm.edge import Edge

CutoffKind = Literal["tokens", "k", "candidates"]
Scale = Literal["cosine", "words", ""]

# What a unit without a vector counts as: the lowest cosine there is, so that it ranks after every unit that has one.
NO_COSINE = -1.0
_GIVES = {"dense": "NAME", "sparse": "bge-m3", "multi": "bge-m3-multi"}


@dataclass(frozen=True)
class Cutoffs:
    """Where contexts end: after a token budget, or after the first k units.

    Attributes:
        candidates: how long the candidate list is that a loss is told by, a context of its own; 0 for none.
    """

    tokens: tuple[int, ...] = ()
    k: tuple[int, ...] = ()
    candidates: int = 0

    @cached_property
    def pairs(self) -> list[tuple[CutoffKind, int]]:
        """Every cutoff as (kind, value), token budgets first, the candidate list last."""
        deep: list[tuple[CutoffKind, int]] = [("candidates", self.candidates)] if self.candidates else []
        return [*(("tokens", budget) for budget in self.tokens), *(("k", k) for k in self.k), *deep]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one step makes of every unit for every question.

    Attributes:
        values: shape (m, n), NaN where it has no score.
        scale: 'cosine': from -1 to 1, the same for every question; 'words': 0 for nothing in common, with no upper end of
            its own; '': any other, which ranks units and adds to nothing.
    """

    values: Floats
    scale: Scale = ""

    @property
    def found(self) -> Bools:
        """Units that the step found, shape (m, n): not those without a vector, or without a word of the question."""
        return self.values > 0 if self.scale == "words" else ~np.isnan(self.values)

    def whole(self) -> Floats:
        """The values, and in place of what is missing the lowest cosine, or 0."""
        return np.where(np.isnan(self.values), NO_COSINE if self.scale == "cosine" else 0.0, self.values)

    def scaled(self) -> Floats:
        """Cosines as they are, words as share of the question's largest: 0 where the largest is 0, or there is none."""
        values = self.whole()
        if self.scale == "cosine":
            return values
        largest = values.max(axis=1, keepdims=True, initial=0.0)
        return values / np.where(largest > 0, largest, 1.0)


@dataclass(frozen=True, slots=True)
class Search:
    """What a step is given and gives on; a step returns a changed copy.

    Attributes:
        questions: rows of the questions schema, m of them.
        texts: what they ask.
        vectors: what an embedder gave of the questions. None: not embedded.
        tokeniser: what counts the budget.
        model: the model edge, for steps that ask one. None: there is none.
        alone: whether nothing else is asked of the conversation.
        parts: what steps made of each unit, by name.
        score: shape (m, n): what units are ranked by.
        sought: shape (m, n): the only units that a seed step looks for. None: all.
        allowed: shape (m, n): the units that a filter leaves. None: all.
        order: shape (m, n): positions of units in the store, best first; candidates stand before all others.
        listed: shape (m,): how many ranks are candidates; a unit beyond them is neither kept nor shown.
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
    model: "Edge | None" = None
    alone: bool = False
    parts: Mapping[str, Part] = field(default_factory=dict)
    score: Floats | None = None
    sought: Bools | None = None
    allowed: Bools | None = None
    order: Ints | None = None
    listed: Ints | None = None
    rerank_cut: int = 0
    view: View = field(default_factory=View)
    leading: Mapping[tuple[CutoffKind, int], Ints] = field(default_factory=dict)
    shown: Shown | None = None

    def with_part(self, name: str, part: Part) -> "Search":
        """The search with what a step made of each unit."""
        return replace(self, parts={**self.parts, name: part})

    def outputs(self, step: str, kind: str) -> tuple[Outputs, Outputs]:
        """Outputs of the questions and of the units, one kind of which a step needs.

        Raises:
            UsageError: the store or the questions do not have it.
        """
        asked, stored = self.vectors, self.store.vectors
        if asked is None or stored is None or kind not in asked.kinds & stored.kinds:
            have = ", ".join(
                f"{who} {'have them' if outputs is not None and kind in outputs.kinds else 'have none'}"
                for who, outputs in (("units", stored), ("questions", asked))
            )
            what = "vectors" if kind == "dense" else f"{kind} outputs"
            raise UsageError(
                f"step={step!r} needs {what}: {have}",
                hint=f"memlake embed --embedder {_GIVES[kind]}, or leave the step out of the plan",
            )
        return asked, stored

    def ask(self, requests: Sequence[Request], *, about: str) -> list[Reply]:
        """The model edge's replies to some requests, in order; all of them are asked at once.

        Args:
            about: what they are about, to name them when they are missing offline.

        Raises:
            UsageError: there is no model edge.
            ModelStoppedError: the whole run is to stop.
        """
        edge = self.model
        if edge is None:
            raise UsageError(
                "a step of the plan asks a model, and none is open", hint="memlake study run STUDY --model NAME"
            )

        async def replies() -> list[Reply]:
            return await asyncio.gather(*(edge.ask(request, stage="retrieve", about=about) for request in requests))

        return edge.submit(replies()).result()
