"""What a step of a plan is, and what it works on: the questions of one conversation, its store, and what is found so far."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from memlake.transforms.base.arrays import Bools, Floats, Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.llm.protocol.model import Reply, Request
from memlake.transforms.retrieve.contexts.shown import Shown, View
from memlake.transforms.retrieve.store.store import Store, StreamedStock

if TYPE_CHECKING:
    from memlake.transforms.lake.storage.snapshot import Snapshot
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
        candidates: how long the candidate list is that a loss is decided by, a context of its own; 0 for none.
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


# In the order in which a plan has them.
Stage = Literal["seed", "fuse", "filter", "rank", "expand", "rerank", "show", "swap", "pack"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a plan is run on: the representations that it searches, and the conversations that are asked about."""

    snapshot: "Snapshot"
    corpus: str
    representations: Sequence[str]
    conversations: Sequence[str]


class Step(BaseModel, ABC):
    """One step of a plan; a subclass is a kind of step, which stands in `plan.STEPS`.

    Attributes:
        stage: where in a plan it may stand.
        step: the kind's name, in a subclass `step: Literal[NAME]`.
        part: what it adds to `Search.parts`, kept in `retrievals`: in the column of that name, else in the map `parts`;
            '' for nothing.
        outputs: what units and questions must have of an embedder: 'dense', 'sparse', 'multi'.
        reads: the tables that it reads beside units, of one conversation at a time.
        rerankers, chat_models: the models that it asks, by name; the latter through `Search.ask`.
        view: what of a unit contexts show; None: the step does not say.
        adds_up: whether a unit ranks by its own parts alone, the higher the more of each: then the best units are among
            those that `Seed.leaders` gives.

    What a step says of itself is an attribute of its class, or a property where its settings decide.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    stage: ClassVar[Stage]
    part: ClassVar[str] = ""
    outputs: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[frozenset[str]] = frozenset()
    rerankers: ClassVar[tuple[str, ...]] = ()
    chat_models: ClassVar[tuple[str, ...]] = ()
    view: ClassVar[View | None] = None
    adds_up: ClassVar[bool] = False

    step: str

    def with_reranker(self, model: str) -> Self | None:  # noqa: ARG002 - for steps that ask one
        """The step with this reranker, 'none' for none; None where it is nothing without."""
        return self

    def problem(self, seeds: Sequence["Seed"]) -> str:  # noqa: ARG002 - for steps that depend on them
        """What is wrong with it in a plan of these seeds; '' for nothing."""
        return ""

    def check_stored(self, scope: Scope) -> None:
        """Refuse to begin where the lake lacks what the step goes by.

        Raises:
            NotFoundError: something is not stored; the hint makes it.
        """

    def partners(self, questions: pa.Table) -> Ints:
        """By whose words each question is searched, as rows of `questions`."""
        return np.arange(questions.num_rows)

    @abstractmethod
    def apply(self, search: Search) -> Search:
        """The search with this step done."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaders:
    """The best units of a stock for one question, by one seed.

    Attributes:
        units: their positions, best first.
        part: shape (1, 2): what the seed gives the best, and what it gives any other unit at most.
        whole: whether any other unit has exactly that.
    """

    units: Ints
    part: Part
    whole: bool


class Seed(Step):
    """A step that scores every unit of the conversation for every question.

    Attributes:
        scale: how what it gives can be added to what others give; see Part.
    """

    stage: ClassVar[Stage] = "seed"
    scale: ClassVar[Scale] = ""

    @abstractmethod
    def score(self, search: Search) -> Floats:
        """Scores of shape (questions, units), NaN where it cannot score a unit."""

    def leaders(self, stock: StreamedStock, text: str, asked: Outputs | None, k: int) -> Leaders:
        """The k best units of a stock for one question, for a step that adds up.

        Args:
            asked: outputs of the question. None: not embedded.
        """
        raise NotImplementedError

    def apply(self, search: Search) -> Search:
        """Add the part; raises what `score` raises."""
        return search.with_part(self.part, Part(self.score(search), self.scale))


def later(default: Any) -> Any:
    """A setting that came after plans were stored: while it has its default it is left out of a plan's table."""
    return Field(default, exclude_if=lambda value: value == default)
