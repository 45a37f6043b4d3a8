"""Options that many commands share, worded once, and the settings that they override."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

if TYPE_CHECKING:
    from memlake.flows.run.config import Configuration, Settings
    from memlake.transforms.lake.storage.lake import Lake

S = TypeVar("S")
R = TypeVar("R")

LakeUri = Annotated[
    str | None,
    Parameter(name="--lake", help="Folder or file:// URI of the lake; else MEMLAKE_LAKE, memlake.toml, ./lake."),
]
At = Annotated[str, Parameter(name="--at", help="Snapshot to read: latest, an id, or a tag.")]
AsJson = Annotated[
    bool,
    Parameter(name="--json", negative="", show_default=False, help="Print one JSON document on stdout, nothing else."),
]
Quiet = Annotated[
    bool, Parameter(name="--quiet", negative="", show_default=False, help="Print no progress and no notes.")
]
Corpus = Annotated[str, Parameter(name="--corpus", help="The named set of conversations.")]
Names = Annotated[
    tuple[str, ...] | None,
    Parameter(name="--representations", negative="", help="Representations; repeat it, or separate by commas."),
]
Embedder = Annotated[str | None, Parameter(name="--embedder", help="Embedder (default static).")]
LockTimeout = Annotated[
    float | None, Parameter(name="--lock-timeout", help="Seconds to wait for another writer (default 60).")
]
AllowDeadRecords = Annotated[
    float | None, Parameter(name="--allow-dead-records", help="Share of records that may die (default 0.01).")
]
Prefect = Annotated[
    bool | None,
    Parameter(
        name="--prefect", negative="--no-prefect", help="Run as a Prefect flow (default: if an API is configured)."
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class PipelineFlags:
    """Options of every command that runs a pipeline; None is an option that was not given."""

    embedder: Embedder = None
    workers: Annotated[int | None, Parameter(name="--workers", help="Processes of the pipeline (default 1).")] = None
    runner: Annotated[str | None, Parameter(name="--runner", help="Beam runner (default fnapi).")] = None
    runner_options: Annotated[
        tuple[str, ...] | None,
        Parameter(name="--runner-option", negative="", help="Option for the runner, NAME=VALUE; repeat it."),
    ] = None
    prefect: Prefect = None
    lock_timeout: LockTimeout = None
    lake: LakeUri = None


@Parameter(name="*")
@dataclass(frozen=True)
class ModelFlags:
    """Options of every command that may ask a model over HTTP; OPENAI_BASE_URL and OPENAI_API_KEY are honoured."""

    model: Annotated[str | None, Parameter(name="--model", help="The model that is asked.")] = None
    base_url: Annotated[
        str | None, Parameter(name="--base-url", help="Its OpenAI-compatible server (default OPENAI_BASE_URL).")
    ] = None
    provider: Annotated[
        str | None, Parameter(name="--provider", help="What its server is called on record (default: its host name).")
    ] = None
    max_in_flight: Annotated[
        int | None, Parameter(name="--max-in-flight", help="Calls at a time, of the whole job (default 16).")
    ] = None
    requests_per_minute: Annotated[
        int | None, Parameter(name="--requests-per-minute", help="Of the whole job (default no limit).")
    ] = None
    tokens_per_minute: Annotated[
        int | None, Parameter(name="--tokens-per-minute", help="Of the whole job (default no limit).")
    ] = None
    max_cost: Annotated[
        float | None, Parameter(name="--max-cost", help="US dollars after which the run stops, to be taken up again.")
    ] = None
    offline: Annotated[
        bool | None,
        Parameter(name="--offline", negative="", help="Call nothing: replay what the lake's cache holds."),
    ] = None
    prices: Annotated[
        str | None, Parameter(name="--prices", help="A TOML file of prices that override the built-in ones.")
    ] = None


def split(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Each value of a repeated option split at its commas; None, for an option that was not given, stays None."""
    from memlake.flows.run.config import split_specs

    return None if names is None else tuple(spec for name in names for spec in split_specs(name))


def settings(*groups: PipelineFlags | ModelFlags, **flags: object) -> "Settings":
    """The effective settings under these flags, None meaning not given."""
    return configuration(*groups, **flags).settings


def configuration(*groups: PipelineFlags | ModelFlags, **flags: object) -> "Configuration":
    """The effective settings under these flags, None meaning not given, and where each comes from."""
    from memlake.flows.run.config import load

    return load(**flags, **{name: value for group in groups for name, value in asdict(group).items()})


def open_for_reading(lake: str | None) -> "Lake":
    """The configured lake, which must exist.

    Raises:
        NotFoundError: there is none at that place.
    """
    from memlake.transforms.lake.storage.lake import open_lake

    return open_lake(settings(lake=lake).lake)


def run(function: Callable[[S], R], chosen: S, *, name: str, prefect: bool | None, quiet: bool = False) -> R:
    """Run a flow in line or through Prefect: True and False hold whatever is configured, None means where an API is."""
    if prefect is False:
        return function(chosen)
    from memlake.flows.run.adapter import run_flow

    return run_flow(function, chosen, name=name, prefect=prefect, quiet=quiet)
