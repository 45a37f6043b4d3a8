"""What the flows are given: a marked field is an option, a setting also a variable and a line of memlake.toml."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.setting import Argument, Group, Names, Option, PathText, Setting, Specs, Text
from memlake.transforms.link.settings import LinkSettings
from memlake.transforms.llm.settings import ModelSettings

if TYPE_CHECKING:
    from memlake.flows.run.jobs import Execution
    from memlake.transforms.represent.common.representation import RepresentationSpec
    from memlake.transforms.study.study import Study

# Written out, since the catalogue's own imports would make the help slow.
REPRESENTATION_NAMES = (
    "By rule: chunks, turns, sentences, sessions, rule_summary, artifacts_rules, chunks_published, date_windows. By a "
    "model (--model): artifacts, propositions, summaries, rolling_summary, keyphrases, facts. Other settings under a "
    "name of your own: NAME-WORD:KEY=VALUE,KEY=VALUE (a KEY that there is not lists those there are)."
)
Share = Annotated[float, Field(ge=0, le=1)]
Corpus = Annotated[str, Option("The named set of conversations.")]
At = Annotated[str, Option("Snapshot to read: latest, an id, or a tag.")]
# A flow that code calls says nothing; a command does unless it is told not to.
Quiet = Annotated[bool, Option("Print no progress and no notes.", default=False)]
StudyName = Annotated[str, Argument("A study of `memlake study ls`, or a path to a .toml file.")]


@dataclass(frozen=True)
class LakeSettings:
    """Which lake."""

    lake: Annotated[Text, Setting("The lake: a folder or file:// URI.", default="./lake")]


@dataclass(frozen=True)
class ReadSettings(LakeSettings):
    """Which lake is read, and at which snapshot."""

    _: KW_ONLY
    at: At = "latest"


@dataclass(frozen=True)
class WriteSettings(LakeSettings):
    """Which lake is written to."""

    _: KW_ONLY
    lock_timeout_s: Annotated[
        float, Field(ge=0), Setting("Seconds to wait for another writer.", name="lock_timeout")
    ] = 60.0


@dataclass(frozen=True)
class EmbedderSettings:
    """Which embedder."""

    _: KW_ONLY
    embedder: Annotated[Text, Setting("Embedder of units and questions.")] = "static"


@dataclass(frozen=True)
class TolerantSettings:
    """What may be lost: the share of records, pieces given to a model, answers or verdicts that may die or fail."""

    _: KW_ONLY
    allow_dead_records: Annotated[Share, Setting("Share of records that may die before exit code 3.")] = 0.01


@dataclass(frozen=True)
class PrefectSettings:
    """Whether a command's flow runs in Prefect."""

    prefect: Annotated[bool | None, Setting("Run as a Prefect flow (default if an API is configured).")] = None


@dataclass(frozen=True)
class DuckDBSettings:
    """What queries may use."""

    threads: Annotated[
        int | None, Field(ge=1), Setting("DuckDB's threads (default as many as there are cores).", flag=None)
    ] = None
    memory_limit: Annotated[Text | None, Setting("DuckDB's memory before it spills (default 4GB).", flag=None)] = None
    temp_directory: Annotated[
        Text | None, Setting("Where DuckDB spills (default below the system's temporary folder).", flag=None)
    ] = None


@dataclass(frozen=True)
class PipelineSettings(WriteSettings, EmbedderSettings):
    """What every pipeline is given: the lake, the corpus, and where and how its jobs run.

    Attributes:
        embedder: 'none' lands units without vectors.
        shard_bytes: how much input one shard has, about.
        models: how models are asked, by whatever asks one.
    """

    corpus: Corpus
    _: KW_ONLY
    workers: Annotated[int, Field(ge=1), Setting("Processes of a pipeline.")] = 1
    runner: Annotated[Text, Setting("Beam runner.")] = "fnapi"
    runner_options: Annotated[
        Names, Setting("Option for the runner, NAME=VALUE; repeat it.", flag="--runner-option")
    ] = ()
    shard_bytes: int = 128 << 20
    quiet: Quiet = True
    models: Annotated[ModelSettings, Group()] = field(default_factory=ModelSettings)

    @property
    def execution(self) -> "Execution":
        """Where the jobs run."""
        from memlake.flows.run.jobs import Execution  # imports Beam, which no --help needs

        return Execution(self.runner, self.workers, self.runner_options, self.quiet)

    @property
    def embedder_name(self) -> str:
        """The embedder, '' for none."""
        return "" if self.embedder == "none" else self.embedder


@dataclass(frozen=True)
class IngestSettings(TolerantSettings, PipelineSettings):
    """What `memlake ingest` is given.

    Attributes:
        allow_dead: share of whole files that may die before the run ends with exit code 3.
        allow_dead_records: the same for records.
    """

    sources: Annotated[tuple[str, ...], Argument("Files, folders, globs or file:// URIs.")]
    format: Annotated[str, Option("The sources' format; auto looks at their content.")] = "auto"
    representations: Annotated[
        Specs, Setting("Representations that ingest makes; repeat it, or separate by commas.")
    ] = ("chunks",)
    chunk_size: Annotated[int, Field(ge=1), Setting("Characters of a chunk.")] = 512
    overlap: Annotated[int, Field(ge=0), Setting("Characters that neighbouring chunks share.")] = 100
    corrections: Annotated[PathText | None, Option("A file of corrected labels for LoCoMo.", typed=Path)] = None
    allow_dead: Annotated[Share, Setting("Share of files that may die before exit code 3.")] = 0.0
    dry_run: Annotated[bool, Option("Read and count, write nothing.")] = False

    def specs(self) -> "tuple[RepresentationSpec, ...]":
        """The representations to make; chunks always, under a name that tells their settings.

        Raises:
            NotFoundError, UsageError: a representation or a setting that cannot be.
        """
        from memlake.transforms.represent.by_rule.chunks import CHUNKS

        sizes = {"size": self.chunk_size, "overlap": self.overlap}
        plain = sizes == {name: CHUNKS.defaults[name] for name in sizes}
        named = f"chunks-s{self.chunk_size}-o{self.overlap}:size={self.chunk_size},overlap={self.overlap}"
        specs = ["chunks" if plain else named, *(spec for spec in self.representations if spec != "chunks")]
        return _specs(specs, self.models)


@dataclass(frozen=True)
class RepresentSettings(TolerantSettings, PipelineSettings):
    """What `memlake represent` is given."""

    names: Annotated[Specs, Argument(REPRESENTATION_NAMES)]

    def specs(self) -> "tuple[RepresentationSpec, ...]":
        """The representations to make.

        Raises:
            NotFoundError, UsageError: a representation or a setting that cannot be.
        """
        return _specs(self.names, self.models)


@dataclass(frozen=True)
class EmbedSettings(PipelineSettings):
    """What `memlake embed` is given; no representations means all that are stored."""

    representations: Annotated[Specs, Option("Only these representations; repeat it, or separate by commas.")] = ()


@dataclass(frozen=True)
class LinkRunSettings(PipelineSettings):
    """What `memlake link` is given; its embedder's stored vectors are compared, and no model is asked."""

    names: Annotated[Specs, Argument("Representations whose units are linked; they must be embedded.")]
    links: Annotated[LinkSettings, Group()] = field(default_factory=LinkSettings)
    models: ModelSettings = field(default_factory=ModelSettings, kw_only=True)


@dataclass(frozen=True)
class ForgetSettings(WriteSettings):
    """What `memlake forget` is given."""

    corpus: Corpus
    conversation: Annotated[str, Argument("The conversation's id.")]


@dataclass(frozen=True)
class StudyChoice(ReadSettings):
    """Which study, what of it and on what: what `memlake study plan` is given.

    Attributes:
        study: a name of flows/studies or a path.
        corpus: which of the study's corpora; or, of a study of one, another in its place; none for the study's own.
        embedder, reranker: in place of the study's; '' for its own, reranker='none' to leave reranking out.
    """

    study: StudyName
    corpus: Annotated[
        Specs,
        Option(
            "Of the study's corpora only these; of a study of one, another in its place. Repeat it, or separate by "
            "commas."
        ),
    ] = ()
    embedder: Annotated[str, Option("In place of the study's own.")] = ""
    reranker: Annotated[str, Option("In place of the study's own; none takes reranking out of its plans.")] = ""
    _: KW_ONLY
    models: Annotated[ModelSettings, Group()] = field(default_factory=ModelSettings)

    def chosen(self) -> "Study":
        """The study under these settings.

        Raises:
            NotFoundError, UsageError: there is none, it is none, or a setting does not fit it.
        """
        from memlake.transforms.study.parse import find_study

        return self.applied(find_study(self.study))

    def applied(self, study: "Study") -> "Study":
        """A study as these settings change it.

        Raises:
            UsageError: a setting does not fit it.
        """
        return study.under(corpora=self.corpus, embedder=self.embedder, reranker=self.reranker, model=self.models.model)


@dataclass(frozen=True)
class StudySettings(TolerantSettings, WriteSettings, StudyChoice):
    """What `memlake study run` is given."""

    _: KW_ONLY
    quiet: Quiet = True


@dataclass(frozen=True)
class DemoSettings:
    """What `memlake demo` is given."""

    lake: Annotated[str, Option("Folder of the lake (default a new temporary one, which stays).", default="")]
    quiet: Quiet = True


def fits_of(given: Sequence[object]) -> tuple[float, ...]:
    """The fits of an option that may be repeated, each value a number or several with commas.

    Raises:
        UsageError: one is no number.
    """
    fits = []
    for text in (part.strip() for value in given for part in str(value).split(",")):
        try:
            fits.append(float(text))
        except ValueError:
            raise UsageError(
                f"fit={text!r} is no number: from 0 to 1 is allowed", hint="memlake probes --help"
            ) from None
    return tuple(fits)


@dataclass(frozen=True)
class ProbesSettings:
    """What `memlake probes` is given."""

    out: Annotated[PathText, Argument("Folder that the files are written into; other files there stay.", typed=Path)]
    seed: Annotated[int, Option("The same seed and settings write the same bytes.")] = 7
    conversations: Annotated[int, Option("Conversations of each file.")] = 40
    turns: Annotated[int, Option("Turns of a conversation, at least 20.")] = 60
    fit: Annotated[
        tuple[float, ...],
        BeforeValidator(fits_of),
        Option(
            "Share of facts told as the typed artifact schema holds them, 0 to 1; repeat it, or separate by commas.",
            typed=tuple[str, ...],
        ),
    ] = (0.5,)
    split: Annotated[str, Option("Templates to draw from: test or train.")] = "test"


# Between them they declare every setting, in the order in which `memlake doctor` shows it.
KINDS = (LakeSettings, EmbedderSettings, IngestSettings, PrefectSettings, DuckDBSettings)


def _specs(names: Sequence[str], models: ModelSettings) -> "tuple[RepresentationSpec, ...]":
    """Each representation that is asked for, once, with the run's model where it asks one."""
    from memlake.transforms.represent.catalogue import spec_of

    return tuple(spec_of(name, model=models.model, provider=models.provider_name) for name in dict.fromkeys(names))
