"""A study: which cells are compared on which questions of which corpora, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import PydanticCustomError

from memlake.schemas.metrics import METRICS
from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.retrieve.plan import Plan
from memlake.transforms.retrieve.steps.step import CutoffKind, Cutoffs
from memlake.transforms.study import fields as f
from memlake.transforms.text.content_tokens import Language

JUDGE_HINT = "judge = NAME of [judges.NAME]"
MeasuredAt = Literal["tokens", "k", "none"]


@dataclass(frozen=True, slots=True)
class StudyCorpus:
    """A corpus that is asked about.

    Attributes:
        label_sets: whose labels are scored against; empty for every set that the corpus has.
        categories: which questions are asked; empty for all.
        language: 'english' stems content tokens, 'other' does not.
        dial: where the corpus stands on the dial that the study turns, such as the fit of its facts to a schema.
    """

    name: str
    label_sets: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    language: Language = "english"
    dial: float | None = None


@dataclass(frozen=True, slots=True)
class StudyCell:
    """A cell: the representations whose units are searched together, the plan that searches them, and who answers.

    Attributes:
        reader: a reader of the study; '' where no answer is asked for.
        corpora: on which corpora it runs; empty for all of the study.
        cutoffs: where its contexts end; None for the study's own.
        answers: at which cutoffs its reader is asked; None for the study's own.
    """

    name: str
    representations: tuple[str, ...]
    plan: Plan
    reader: str = ""
    corpora: tuple[str, ...] = ()
    cutoffs: Cutoffs | None = None
    answers: Cutoffs | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a cell: a metric at a cutoff, under one label set, by one judge ('' where none judges)."""

    metric: str
    cutoff_kind: str
    cutoff: int
    label_set: str = "official"
    judge: str = ""

    def said(self) -> dict[str, Any]:
        """The measure as a study's file says it: no judge where none judges."""
        return {key: value for key, value in asdict(self).items() if value != ""}


class Section(BaseModel):
    """A section of a study's file: no key but its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MeasureSection(Section):
    """One number of a cell: a metric at a cutoff, under one label set, by one judge."""

    metric: f.MetricName
    cutoff_kind: MeasuredAt
    cutoff: f.CountOrNone
    label_set: f.Text = "official"
    judge: f.Text = ""

    @property
    def measure(self) -> Measure:
        """The number."""
        return Measure(self.metric, self.cutoff_kind, self.cutoff, self.label_set, self.judge)


class _Whole(MeasureSection):
    @model_validator(mode="after")
    def _has_its_judge(self) -> Self:
        if said := judge_fault(self.measure):
            raise refused(said, JUDGE_HINT)
        return self


class HeadlineSection(_Whole):
    """The number that a report shows first, and that comparisons are of unless they name another."""

    judge: f.OfJudges = ""


class Comparison(MeasureSection):
    """Two cells whose difference, a - b, the study asks for; all of them together are its declared family.

    What it does not say of its measure is the headline's.
    """

    model_config = ConfigDict(json_schema_extra={"required": ["name", "a", "b"]})

    name: f.Text = Field(description="What alone differs, or what the pair is for.")
    a: f.OfCells
    b: f.OfCells
    judge: f.OfJudges = ""
    corpus: f.OfCorpora = Field("", description="Without it each on which both cells run.")
    categories: f.Texts = Field((), description="Only questions of these; without it all that are asked.")
    against: f.OfComparisons = Field("", description="Another comparison, whose difference this one's is set against.")
    defect: f.Text = Field("", description="What of the published study the pair reproduces or removes.")
    published: f.Number | None = Field(None, description="The difference as published, in the measure's own unit.")
    source: f.Text = ""

    @model_validator(mode="before")
    @classmethod
    def _of_the_headline(cls, said: object, info: ValidationInfo) -> object:
        return {**info.context["headline"], **said} if isinstance(said, dict) and info.context else said

    @model_validator(mode="after")
    def _has_two_cells(self) -> Self:
        if self.a == self.b:
            raise refused("it is of a cell with itself: two cells are allowed")
        return self


@pydantic_dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Repeats:
    """Cells that differ by the repetition of one step alone, so that their spread is that step's own variance."""

    of: Literal["extraction"]
    cells: f.SomeCells


class _Stated(_Whole):
    cell: f.OfCells
    value: f.Number
    corpus: f.OfCorpora = Field("", description="Without it the study's only one.")

    @model_validator(mode="after")
    def _has_its_corpus(self, info: ValidationInfo) -> Self:
        if not self.corpus and len(f.declared(info, "corpora")) > 1:
            raise refused("it names no corpus, and there are several", "corpus = NAME")
        return self


class PublishedNumber(_Stated):
    """A number from elsewhere that may stand beside ours."""

    source: f.Text = Field(description="Whose it is.")
    n: f.Count = Field(description="Of how many questions, those that its author could not score among them.")
    note: f.Text = Field("", description="What differs.")


class Gate(_Stated):
    """A number that a run of the study must keep: within `tolerance` of `value`."""

    tolerance: f.Tolerance
    category: f.Text = Field("", description="Only questions of it; without it all.")


def judge_fault(measure: Measure) -> str:
    """What is wrong with a measure's judge, '' for nothing: a verdict has one, other metrics have none."""
    if (METRICS[measure.metric].of == "verdict") == bool(measure.judge):
        return ""
    needs = "has no judge" if measure.judge else "needs a judge"
    return f"judge={measure.judge!r}: metric={measure.metric!r} {needs}"


def refused(words: str, hint: str = f.HINT) -> PydanticCustomError:
    """What a validator raises of a whole section."""
    return PydanticCustomError("section", "{words}", {"words": words, "hint": hint})


@dataclass(frozen=True, slots=True)
class Study:
    """What a study asks.

    Attributes:
        embedder: of units and questions, for plans that need vectors.
        depth: how many ranks are kept at least, and how deep a candidate list is when a loss is explained.
        answers: at which cutoffs readers are asked.
        headline: the number that a report shows first, and that comparisons are of unless they name another.
        seed: of every interval and test.
    """

    name: str
    corpora: tuple[StudyCorpus, ...]
    cells: tuple[StudyCell, ...]
    cutoffs: Cutoffs
    headline: Measure
    embedder: str = "static"
    tokeniser: str = "chars4"
    depth: int = 100
    answers: Cutoffs = field(default_factory=Cutoffs)
    readers: Mapping[str, ReaderSpec] = field(default_factory=dict)
    judges: tuple[JudgeSpec, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    repeats: tuple[Repeats, ...] = ()
    published: tuple[PublishedNumber, ...] = ()
    gates: tuple[Gate, ...] = ()
    seed: int = 7

    def under(self, *, corpora: Sequence[str], embedder: str, reranker: str, model: str) -> "Study":
        """The study as a run's settings change it; '' and no corpora leave it as it is.

        Raises:
            UsageError: a setting does not fit it.
        """
        study = self.on_corpora(corpora) if corpora else self
        study = replace(study, embedder=embedder) if embedder else study
        study = study.with_reranker(reranker) if reranker else study
        return study.with_model(model)

    def cells_of(self, corpus: str) -> tuple[StudyCell, ...]:
        """The cells that run on a corpus."""
        return tuple(cell for cell in self.cells if not cell.corpora or corpus in cell.corpora)

    def corpora_of(self, comparison: Comparison) -> tuple[str, ...]:
        """The corpora on which a comparison is: its own, or each on which both cells run."""
        return tuple(
            corpus.name
            for corpus in self.corpora
            if comparison.corpus in ("", corpus.name)
            and {comparison.a, comparison.b} <= {cell.name for cell in self.cells_of(corpus.name)}
        )

    def judges_of(self, corpus: str) -> tuple[JudgeSpec, ...]:
        """The judges of answers to questions of a corpus."""
        return tuple(judge for judge in self.judges if not judge.corpora or corpus in judge.corpora)

    def answered(self, cell: StudyCell) -> Cutoffs:
        """At which cutoffs the cell's reader is asked; none without a reader."""
        if not cell.reader:
            return Cutoffs()
        return self.answers if cell.answers is None else cell.answers

    def cutoffs_of(self, cell: StudyCell) -> Cutoffs:
        """Where the cell's contexts end, with those that its reader is asked at, and the candidate list of a loss."""
        own, asked = cell.cutoffs or self.cutoffs, self.answered(cell)
        return Cutoffs(
            tokens=tuple(sorted({*own.tokens, *asked.tokens})),
            k=tuple(sorted({*own.k, *asked.k})),
            candidates=self.depth if asked.pairs else 0,
        )

    def texts_of(self, cell: StudyCell) -> frozenset[tuple[CutoffKind, int]]:
        """At which cutoffs a context's text is kept: where a reader is asked, and at the headline."""
        at = (self.headline.cutoff_kind, self.headline.cutoff)
        return frozenset({*self.answered(cell).pairs, *([at] if at[0] != "none" else [])})  # type: ignore[arg-type]

    def reader_of(self, cell: StudyCell) -> ReaderSpec | None:
        """The reader that the cell names."""
        return self.readers[cell.reader] if cell.reader else None

    def embedder_of(self, cell: StudyCell) -> str:
        """The embedder that the cell's plan needs, '' for none."""
        return self.embedder if cell.plan.needs_vectors else ""

    @property
    def needs_vectors(self) -> bool:
        """Whether the plan of any cell needs questions and units embedded."""
        return any(cell.plan.needs_vectors for cell in self.cells)

    @property
    def asks_models(self) -> tuple[str, ...]:
        """The chat models that its plans, readers and judges ask; '' for the run's own."""
        used = {cell.reader for cell in self.cells if self.answered(cell).pairs}
        readers = [reader.model for name, reader in self.readers.items() if name in used and reader.asks_model]
        judges = [judge.model for judge in self.judges if judge.asks_model and used]
        plans = [model for cell in self.cells for model in cell.plan.chat_models]
        return tuple(dict.fromkeys([*plans, *readers, *judges]))

    def on_corpora(self, names: Sequence[str]) -> "Study":
        """The study on some of its corpora; or, where it has one and one other is named, on that in its place.

        Raises:
            UsageError: the names are neither.
        """
        own = [corpus.name for corpus in self.corpora]
        if set(names) <= set(own):
            cells = tuple(
                replace(cell, corpora=tuple(name for name in cell.corpora if name in names))
                for cell in self.cells
                if not cell.corpora or set(names) & set(cell.corpora)
            )
            return replace(self, corpora=tuple(c for c in self.corpora if c.name in names), cells=cells)
        if len(own) == 1 == len(names):
            cells = tuple(replace(cell, corpora=()) for cell in self.cells)
            return replace(self, corpora=(replace(self.corpora[0], name=names[0]),), cells=cells)
        raise UsageError(
            f"corpus={', '.join(names)} is not of study={self.name!r}, which asks about {', '.join(own)}",
            hint=f"--corpus {own[0]}",
        )

    def with_reranker(self, model: str) -> "Study":
        """The study with another reranker in every plan that reranks; 'none' takes the step out."""
        return replace(self, cells=tuple(replace(cell, plan=cell.plan.with_reranker(model)) for cell in self.cells))

    def with_model(self, model: str) -> "Study":
        """The study with the run's model for readers and judges that name none.

        Raises:
            UsageError: one asks a model, names none, and the run has none.
        """
        if "" in self.asks_models and not model:
            raise UsageError(
                f"study={self.name!r} has readers or judges that ask a model, and none is named",
                hint="the same command with --model NAME, or model = NAME in the study's [readers] and [judges]",
            )
        return replace(
            self,
            readers={
                name: replace(reader, model=reader.model or model) if reader.asks_model else reader
                for name, reader in self.readers.items()
            },
            judges=tuple(replace(j, model=j.model or model) if j.asks_model else j for j in self.judges),
        )

    def cell(self, name: str) -> StudyCell:
        """A cell by its name.

        Raises:
            NotFoundError: there is none.
        """
        found = next((cell for cell in self.cells if cell.name == name), None)
        if found is None:
            raise NotFoundError(
                f"cell={name!r} is none of study={self.name!r}: {', '.join(cell.name for cell in self.cells)}",
                hint="memlake study ls",
            )
        return found
