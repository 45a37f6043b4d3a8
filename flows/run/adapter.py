"""How a flow runs: in line, or as a Prefect flow run. Nothing here imports Prefect before a Prefect run starts.

A flow is an ordinary function of one settings object. `run_flow` calls it in line when no Prefect API is configured, since a
temporary server costs some ten seconds a command; otherwise as a Prefect flow run. Inside it, `step` and `publish_artifact`
make Prefect tasks and artifacts in a Prefect run, and get out of the way in line.
"""

import logging
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from memlake.flows.run.temporary_server import TemporaryServer, temporary_server
from memlake.transforms.base.errors import MemlakeError, PrefectUnavailableError, UsageError

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

# Prefect reports home by default; here it does so only for a user who says so in the environment.
QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
}
# Off the terminal only: Prefect's other handler still sends the logs to the server.
SILENT = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"}
RETRY_DELAYS_S = [1.0, 10.0, 60.0]
DRAIN_LIMIT_S = 10.0


def run_flow(
    function: Callable[[S], R], settings: S, *, name: str, prefect: bool | None = None, quiet: bool = False
) -> R:
    """Run a flow function and return what it returns; whatever it raises reaches the caller unchanged.

    Args:
        function: the flow; called as `function(settings)`.
        settings: one object that Prefect can show as JSON (a pydantic model or a dataclass), without secrets.
        name: the flow's name in Prefect.
        prefect: True: a Prefect flow run, on a temporary server where no API is configured; False: in line; None: a Prefect
            flow run where an API is configured, else in line.
        quiet: tell nothing on the terminal, neither of a server that starts nor what Prefect logs; servers get the logs.

    Raises:
        PrefectUnavailableError: the configured API does not answer, or the temporary server did not start.
    """
    if prefect is False:
        return function(settings)
    api = configured_api()
    if api is None and prefect is None:
        return function(settings)
    with _environment(SILENT if quiet else {}):
        if api is not None:
            return _run_in_prefect(function, settings, name=name)
        with temporary_server(quiet=quiet) as server, _environment(server.client_environment):
            return _run_in_prefect(function, settings, name=name, server=server)


def step(function: Callable[P, R], *, name: str, retries: int = 0) -> Callable[P, R]:
    """Make a step of a flow: the function itself in line, in a Prefect run a task of that name.

    A step is one Beam job or one commit, never one record, and its arguments and result are small (paths, counts). Nothing is
    cached or persisted by Prefect: what is done already is known from the lake. Retries happen in a Prefect run only, and not
    after a MemlakeError, which the same input would raise again.
    """
    if not in_prefect_run():
        return function
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    as_task = task(
        name=name,
        retries=retries,
        retry_delay_seconds=RETRY_DELAYS_S[:retries] if retries else None,
        retry_condition_fn=_is_worth_a_retry,
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    return as_task(function)


def publish_artifact(
    key: str, *, rows: Sequence[Mapping[str, object]] | None = None, markdown: str | None = None
) -> None:
    """Show a table, a text or both beside the Prefect run under a stable lower-kebab key; do nothing in line."""
    if not in_prefect_run():
        return
    from prefect.artifacts import create_markdown_artifact, create_table_artifact

    if rows is not None:
        table = [dict(row) for row in rows]
        create_table_artifact(table, key=key, _sync=True)  # type: ignore[call-arg]
    if markdown is not None:
        text_key = key if rows is None else f"{key}-text"
        create_markdown_artifact(markdown, key=text_key, _sync=True)  # type: ignore[call-arg]


def in_prefect_run() -> bool:
    """Say whether the caller runs inside a Prefect flow run; Prefect's own context variable knows."""
    context = sys.modules.get("prefect.context")
    return context is not None and context.FlowRunContext.get() is not None


def configured_api() -> str | None:
    """Find the URL of the Prefect API that the environment or the active Prefect profile names, without importing Prefect.

    Raises:
        UsageError: the profiles file is not TOML.
    """
    if url := os.environ.get("PREFECT_API_URL"):
        return url
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").expanduser()
    if not path.is_file():
        return None
    try:
        profiles = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"the Prefect profiles file {path} is not valid TOML: {error}"
        raise UsageError(message, hint="mend it, or set PREFECT_API_URL") from error
    active = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    profile = profiles.get("profiles", {}).get(active, {})
    return profile.get("PREFECT_API_URL") or None


def _run_in_prefect(function: Callable[[S], R], settings: S, *, name: str, server: TemporaryServer | None = None) -> R:
    """Run the function as a Prefect flow run against the API that the environment names, or the temporary server."""
    for setting, value in QUIET.items():
        os.environ.setdefault(setting, value)
    from prefect import flow  # two seconds, while a temporary server starts
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    if server is not None:
        server.wait_until_ready()
    # Prefect reads the environment when it is imported, which may have been before this call.
    overrides = {PREFECT_API_URL: server.url, PREFECT_HOME: server.home} if server else {}
    with temporary_settings(overrides), _tracebacks_for_the_unexpected_only():
        _check_api()
        try:
            return flow(name=name, validate_parameters=False, persist_result=False)(function)(settings)
        finally:
            if server is not None:
                _send_what_is_queued()


def _check_api() -> None:
    """Ask the API for its health, so that a wrong URL is one line and not a traceback."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    with get_client(sync_client=True) as client:
        error = client.api_healthcheck()
    if error is not None:
        message = f"the Prefect API {PREFECT_API_URL.value()} does not answer: {error}"
        raise PrefectUnavailableError(message, hint="prefect server start, or unset PREFECT_API_URL to run in line")


def _send_what_is_queued() -> None:
    """Send the logs and events that Prefect's threads still hold, before the server that they go to is stopped."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=DRAIN_LIMIT_S)
    EventsWorker.drain_all(timeout=DRAIN_LIMIT_S)


def _is_worth_a_retry(_task: object, _task_run: object, state: Any) -> bool:
    """Say whether a failed step may succeed when it is run again; Prefect asks with the state that it failed in."""
    return not isinstance(state.result(raise_on_failure=False), MemlakeError)


class _ExpectedErrors(logging.Filter):
    """Drops records that carry a MemlakeError: the command prints it in one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], MemlakeError))


@contextmanager
def _tracebacks_for_the_unexpected_only() -> Iterator[None]:
    """Keep tracebacks of a MemlakeError off the terminal; the Prefect server still gets them."""
    # Prefect's own console handler, or one that another library (Beam warns when it is imported) put at the root before it.
    handlers = [handler for handler in logging.getLogger().handlers if isinstance(handler, logging.StreamHandler)]
    expected = _ExpectedErrors()
    for handler in handlers:
        handler.addFilter(expected)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(expected)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, for this process and the ones it starts, and put the old values back."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
