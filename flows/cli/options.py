"""Options that many commands share, worded once, and the settings that they override."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

if TYPE_CHECKING:
    from flows.config import Configuration, Settings
    from transforms.lake.lake import Lake

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
Workers = Annotated[int | None, Parameter(name="--workers", help="Processes of the pipeline (default 1).")]
Runner = Annotated[str | None, Parameter(name="--runner", help="Beam runner (default fnapi).")]
RunnerOptions = Annotated[
    tuple[str, ...] | None,
    Parameter(name="--runner-option", negative="", help="Option for the runner, NAME=VALUE; repeat it."),
]
LockTimeout = Annotated[
    float | None, Parameter(name="--lock-timeout", help="Seconds to wait for another writer (default 60).")
]
Prefect = Annotated[
    bool | None,
    Parameter(
        name="--prefect", negative="--no-prefect", help="Run as a Prefect flow (default: if an API is configured)."
    ),
]


def split(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Each value of a repeated option split at its commas; None, for an option that was not given, stays None."""
    from flows.config import split_specs

    return None if names is None else tuple(spec for name in names for spec in split_specs(name))


def settings(**flags: object) -> "Settings":
    """The effective settings under these flags, None meaning not given."""
    return configuration(**flags).settings


def configuration(**flags: object) -> "Configuration":
    """The effective settings under these flags, None meaning not given, and where each comes from."""
    from flows.config import load

    return load(**flags)


def open_for_reading(lake: str | None) -> "Lake":
    """The configured lake, which must exist.

    Raises:
        NotFoundError: there is none at that place.
    """
    from transforms.lake.lake import open_lake

    return open_lake(settings(lake=lake).lake)


def run(function: Callable[[S], R], chosen: S, *, name: str, prefect: bool | None, quiet: bool = False) -> R:
    """Run a flow in line or through Prefect: True and False hold whatever is configured, None means where an API is."""
    if prefect is False:
        return function(chosen)
    from flows.adapter import run_flow

    return run_flow(function, chosen, name=name, prefect=prefect, quiet=quiet)
