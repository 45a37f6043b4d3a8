"""What a study's file may say, a model for each of its sections; `infra/study.schema.json` is made of them for editors."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from memlake.transforms.study import fields as f
from memlake.transforms.study.study import Comparison, Gate, HeadlineSection, PublishedNumber, Repeats, Section
from memlake.transforms.text.content_tokens import Language

# A step is checked by `parse_plan`, which knows its settings; infra/study_schema.py puts them into the schema.
Step = Annotated[dict[str, Any], f.allowed("a table is")]


class CutoffsSection(Section):
    """Where contexts end: token budgets, and numbers of units."""

    tokens: f.Counts = ()
    k: f.Counts = ()


class CorpusSection(Section):
    """A corpus that is asked about; what it does not say is said at the top of the file."""

    name: f.CorpusName
    label_sets: f.Texts | None = Field(None, description="Whose labels are scored against; without it every set's.")
    categories: f.Texts | None = Field(None, description="Which questions are asked; without it all.")
    language: Language | None = Field(None, description="english stems content tokens, other does not.")
    dial: f.Number | None = Field(None, description="Where the corpus stands on the dial that the study turns.")


class PlanSection(Section):
    """A retrieval plan of the study's own."""

    steps: Annotated[list[Step], f.allowed("a list of tables is")]


class ExtractiveReader(Section):
    """A reader without a model: the best sentence of the context."""

    kind: Literal["extractive"]


class _Asking(Section):
    model: f.Text = Field("", description="Without it the run's --model.")
    temperature: f.Number = 0.0
    seed: f.CountOrNone = 0
    repeats: f.Count = Field(1, description="How often it is asked, each time with a seed of its own.")


class ModelReader(_Asking):
    """A chat model that answers from the context."""

    kind: Literal["model"]
    prompt: f.PromptName = Field("answer", description="A file of transforms/llm/prompts.")
    max_tokens: f.Count = 200
    question_date: f.Truth = Field(True, description="Whether the date on which the question is asked is told.")


class DeterministicJudge(Section):
    """A judge without a model: every content token of the gold answer (match), or the very answer (exact)."""

    kind: Literal["match", "exact"]


class ModelJudge(_Asking):
    """A chat model that judges answers."""

    kind: Literal["strict", "longmemeval", "abstention"]
    prompt: f.PromptName = Field("", description="In place of the kind's own.")
    max_tokens: f.Count = 10
    corpora: f.SomeCorpora = Field((), description="On which corpora it judges; without it all.")


_Reader = Annotated[ExtractiveReader | ModelReader, Field(discriminator="kind")]
_Judge = Annotated[DeterministicJudge | ModelJudge, Field(discriminator="kind")]


class CellSection(Section):
    """A cell: representations that are searched together, the plan that searches them, and who answers."""

    name: f.CellName
    representations: f.Representations
    plan: f.OfPlans = Field(description="One of [plans], or built in: hybrid, rrf, dense, lexical, random, gold, ...")
    reader: f.OfReaders = Field("", description="One of [readers]; without it no answer is asked for.")
    corpora: f.SomeCorpora = Field((), description="On which corpora it runs; without it all.")
    cutoffs: CutoffsSection | None = Field(None, description="In place of the study's.")
    answers: CutoffsSection | None = Field(None, description="In place of the study's.")


class StudyFile(Section):
    """A study of memlake: which cells are compared on which questions of which corpora."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["corpus"]}, {"required": ["corpora"]}]})

    name: f.StudyName
    corpus: f.CorpusName | None = Field(None, description="The only corpus; or [[corpora]] for several.")
    label_sets: f.Texts = Field((), description="Whose labels are scored against; without it every set's.")
    categories: f.Texts = Field((), description="Which questions are asked; without it all.")
    language: Language = Field("english", description="english stems content tokens, other does not.")
    embedder: f.Text = Field("static", description="Of units and questions, for plans that need vectors.")
    tokeniser: f.TokeniserName = Field("chars4", description="What counts the budgets.")
    depth: f.Count = Field(100, description="How many ranks are kept at least.")
    seed: f.CountOrNone = Field(7, description="Of every interval and test.")
    cutoffs: CutoffsSection
    answers: CutoffsSection = Field(CutoffsSection(), description="At which cutoffs readers are asked.")
    headline: HeadlineSection | None = Field(None, description="The number that a report shows first.")
    plans: dict[f.PlanName, PlanSection] = Field(default_factory=dict)
    readers: dict[f.ReaderName, _Reader] = Field(default_factory=dict)
    judges: dict[f.JudgeName, _Judge] = Field(default_factory=dict)
    corpora: tuple[CorpusSection, ...] = ()
    cells: tuple[CellSection, ...] = Field(json_schema_extra={"minItems": 1})
    comparisons: tuple[Comparison, ...] = ()
    repeats: tuple[Repeats, ...] = ()
    published: tuple[PublishedNumber, ...] = ()
    gates: tuple[Gate, ...] = ()
