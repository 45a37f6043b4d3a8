"""Which Beam runner runs a job, by name, and what each needs."""

import logging
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from memlake.transforms.base.errors import UsageError

# DaskRunner mixes tagged outputs, loses branches and ignores windows without a word; 'direct' may pick Prism.
_REFUSED = {
    "dask": "it loses branches and ignores windows without an error",
    "daskrunner": "it loses branches and ignores windows without an error",
    "direct": "which runner it means depends on what is installed",
    "directrunner": "which runner it means depends on what is installed",
}
_START_LIMIT_S = 30.0


@contextmanager
def runner(name: str, *, workers: int, options: tuple[str, ...] = ()) -> Iterator[beam.Pipeline]:
    """A pipeline that runs when the block ends, on the named runner.

    Args:
        name: 'fnapi' (this process, or `workers` processes), 'prism', or a Beam runner's own name.
        options: 'NAME=VALUE' for the runner, as Beam spells them.

    Raises:
        UsageError: a runner that is known to lose data, or that is not there.
    """
    if name.lower() in _REFUSED:
        raise UsageError(
            f"runner={name!r} is refused: {_REFUSED[name.lower()]}", hint="--runner fnapi or --runner prism"
        )
    flags = [option if option.startswith("--") else f"--{option}" for option in options]
    if name == "fnapi":
        with beam.Pipeline(
            _fnapi(workers), options=PipelineOptions([f"--direct_num_workers={workers}", *flags])
        ) as made:
            yield made
    elif name == "prism":
        with _prism() as endpoint:
            server = [f"--job_endpoint={endpoint}", "--environment_type=LOOPBACK"]
            with beam.Pipeline(PortableRunner(), options=PipelineOptions([*server, *flags])) as pipeline:
                yield pipeline
    else:
        try:
            pipeline = beam.Pipeline(name, options=PipelineOptions(flags))
        except ValueError as error:
            raise UsageError(f"runner={name!r} is not known to Beam: {error}", hint="--runner fnapi") from error
        with pipeline:
            yield pipeline


def _fnapi(workers: int) -> FnApiRunner:
    """Beam's local runner, in this process or over worker processes of our own making."""
    if workers == 1:
        return FnApiRunner()
    # It warns that several workers want another running mode, whose workers print every step they take.
    logging.getLogger("apache_beam.runners.portability.fn_api_runner.fn_runner").setLevel(logging.ERROR)
    command = (
        f"exec {shlex.quote(sys.executable)} -m memlake.flows.run.worker"  # exec: the worker sees us as its parent
    )
    return FnApiRunner(default_environment=SubprocessSDKEnvironment.from_command_string(command))


def prism_location() -> Path | None:
    """Where the Prism binary is: MEMLAKE_PRISM, .tools/ of the project or of this folder, or PATH."""
    named = os.environ.get("MEMLAKE_PRISM")
    places = [Path(named)] if named else [root / ".tools" / "prism" for root in (Path.cwd(), Path(__file__).parents[1])]
    found = next((place for place in places if place.is_file()), None)
    on_path = shutil.which("prism")
    return found or (Path(on_path) if on_path else None)


@contextmanager
def _prism() -> Iterator[str]:
    """A Prism job server on loopback that ends with this process, even when it is killed."""
    binary = prism_location()
    if binary is None:
        raise UsageError("runner='prism': its binary is not here", hint="make prism (needs Go)")
    port = _free_port()
    home = tempfile.mkdtemp(prefix="memlake-prism-")
    supervisor = Path(__file__).with_name("supervisor.py")
    command = [str(binary), f"-job_port={port}", "-serve_http=false", "-log_level=warn"]
    started = subprocess.Popen(
        [sys.executable, "-P", str(supervisor), home, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(port, started)
        yield f"localhost:{port}"
    finally:
        if started.stdin is not None:
            started.stdin.close()
        started.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_LIMIT_S
    while True:
        if process.poll() is not None:
            raise UsageError("runner='prism' ended as it started", hint="make prism builds it anew")
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise UsageError(f"runner='prism' did not listen within {_START_LIMIT_S:g} s") from None
            time.sleep(0.05)
        else:
            return


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])
