"""What the pipeline flows are told; every field is a flag, an environment variable or a line of memlake.toml."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memlake.flows.run.config import Settings
from memlake.flows.run.jobs import Execution
from memlake.transforms.llm.driver import ModelSettings
from memlake.transforms.represent.by_rule.chunks import CHUNKS
from memlake.transforms.represent.catalogue import spec_of
from memlake.transforms.represent.common.representation import RepresentationSpec


@dataclass(frozen=True)
class PipelineSettings:
    """What every pipeline is told: the lake, the corpus, and where and how its jobs run.

    Attributes:
        embedder: 'none' lands units without vectors.
        shard_bytes: how much input one shard has, about.
        models: how models are asked, by whatever asks one.
    """

    lake: str
    corpus: str
    embedder: str = field(default="static", kw_only=True)
    workers: int = field(default=1, kw_only=True)
    runner: str = field(default="fnapi", kw_only=True)
    runner_options: tuple[str, ...] = field(default=(), kw_only=True)
    lock_timeout_s: float = field(default=60.0, kw_only=True)
    shard_bytes: int = field(default=128 << 20, kw_only=True)
    quiet: bool = field(default=True, kw_only=True)
    models: ModelSettings = field(default_factory=ModelSettings, kw_only=True)

    @property
    def execution(self) -> Execution:
        """Where the jobs run."""
        return Execution(self.runner, self.workers, self.runner_options, self.quiet)

    @property
    def embedder_name(self) -> str:
        """The embedder, '' for none."""
        return "" if self.embedder == "none" else self.embedder


@dataclass(frozen=True)
class IngestSettings(PipelineSettings):
    """What `memlake ingest` is told.

    Attributes:
        allow_dead: share of whole files that may die before the run ends with exit code 3.
        allow_dead_records: the same for records.
    """

    sources: tuple[str, ...]
    format: str = "auto"
    representations: tuple[str, ...] = ("chunks",)
    allow_dead: float = 0.0
    allow_dead_records: float = 0.01
    corrections: str | None = None
    dry_run: bool = False
    chunk_size: int = 512
    overlap: int = 100

    def specs(self) -> tuple[RepresentationSpec, ...]:
        """The representations to make; chunks always, under a name that tells their settings.

        Raises:
            NotFoundError, UsageError: a representation or a setting that cannot be.
        """
        sizes = {"size": self.chunk_size, "overlap": self.overlap}
        plain = sizes == {name: CHUNKS.defaults[name] for name in sizes}
        named = f"chunks-s{self.chunk_size}-o{self.overlap}:size={self.chunk_size},overlap={self.overlap}"
        wishes = ["chunks" if plain else named, *(wish for wish in self.representations if wish != "chunks")]
        return specs_of(wishes, self.models)


@dataclass(frozen=True)
class RepresentSettings(PipelineSettings):
    """What `memlake represent` is told.

    Attributes:
        allow_dead_records: share of the pieces given to a model that may fail before the run ends with exit code 3.
    """

    names: tuple[str, ...]
    allow_dead_records: float = 0.01

    def specs(self) -> tuple[RepresentationSpec, ...]:
        """The representations to make.

        Raises:
            NotFoundError, UsageError: a representation or a setting that cannot be.
        """
        return specs_of(self.names, self.models)


@dataclass(frozen=True)
class EmbedSettings(PipelineSettings):
    """What `memlake embed` is told; no representations means all that are stored."""

    representations: tuple[str, ...] = ()


def specs_of(wishes: Sequence[str], models: ModelSettings) -> tuple[RepresentationSpec, ...]:
    """Each representation that is asked for, once, with the run's model where it asks one."""
    return tuple(spec_of(wish, model=models.model, provider=models.provider_name) for wish in dict.fromkeys(wishes))


def model_settings(chosen: Settings) -> ModelSettings:
    """How models are asked, from the effective settings."""
    return ModelSettings(
        model=chosen.model,
        base_url=chosen.base_url,
        provider=chosen.provider,
        max_in_flight=chosen.max_in_flight,
        requests_per_minute=chosen.requests_per_minute,
        tokens_per_minute=chosen.tokens_per_minute,
        max_cost=chosen.max_cost,
        offline=chosen.offline,
        prices=chosen.prices,
    )


def pipeline_settings(chosen: Settings, *, corpus: str, quiet: bool) -> dict[str, Any]:
    """What every pipeline is told but for its models, from the effective settings."""
    return {
        "lake": chosen.lake,
        "corpus": corpus,
        "embedder": chosen.embedder,
        "workers": chosen.workers,
        "runner": chosen.runner,
        "runner_options": chosen.runner_options,
        "lock_timeout_s": chosen.lock_timeout,
        "quiet": quiet,
    }
