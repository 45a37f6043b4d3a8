"""What a step of a plan is: its fields are its settings, and its class says what it needs and what it adds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from memlake.transforms.base.arrays import Floats, Ints
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.retrieve.contexts.shown import View
from memlake.transforms.retrieve.steps.search import Part, Scale, Search
from memlake.transforms.retrieve.store.store import StreamedStock

if TYPE_CHECKING:
    from memlake.transforms.lake.storage.snapshot import Snapshot

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
