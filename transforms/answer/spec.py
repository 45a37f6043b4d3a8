"""Readers and judges as a study names them: plain data, so that a cell's settings hash covers every one of them."""

from dataclasses import dataclass
from typing import Literal

ReaderKind = Literal["extractive", "model"]
JudgeKind = Literal["match", "exact", "strict", "longmemeval", "abstention"]


@dataclass(frozen=True, slots=True)
class ReaderSpec:
    """A reader of a study.

    Attributes:
        kind: 'extractive' asks no model: the best sentence of the context by score. 'model' asks a chat model.
        model: '' for the run's own.
        prompt: a file of transforms/llm/prompts, which is part of the settings hash; '' for an extractive reader.
        question_date: whether the model is shown the date on which the question is asked.
        repeats: how often every question is answered; each repeat has a seed of its own.
    """

    name: str
    kind: ReaderKind
    model: str = ""
    prompt: str = ""
    max_tokens: int = 200
    temperature: float = 0.0
    seed: int = 0
    repeats: int = 1
    question_date: bool = True

    @property
    def asks_model(self) -> bool:
        """Whether a chat model is asked."""
        return self.kind == "model"


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """A judge of a study.

    Attributes:
        kind: 'match' (every content token of the gold answer is in the answer) and 'exact' are deterministic; 'strict' is
            the published CORRECT or INCORRECT form, 'longmemeval' LongMemEval's form for the question's type, 'abstention'
            asks whether the answer says that the question cannot be answered; these ask a model.
        model: '' for the run's own.
        prompt: a file of transforms/llm/prompts in place of the kind's own; '' for that.
        corpora: on which corpora it judges; empty for all of the study.
    """

    name: str
    kind: JudgeKind
    model: str = ""
    prompt: str = ""
    max_tokens: int = 10
    temperature: float = 0.0
    seed: int = 0
    repeats: int = 1
    corpora: tuple[str, ...] = ()

    @property
    def asks_model(self) -> bool:
        """Whether a chat model is asked."""
        return self.kind in ("strict", "longmemeval", "abstention")
