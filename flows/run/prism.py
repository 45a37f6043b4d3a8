"""The Prism runner: where its binary is, and its server for the length of a job."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memlake.transforms.base.errors import UsageError

_START_LIMIT_S = 30.0


def prism_location() -> Path | None:
    """Where the Prism binary is: MEMLAKE_PRISM, .tools/ of the project or of this folder, or PATH."""
    named = os.environ.get("MEMLAKE_PRISM")
    places = [Path(named)] if named else [root / ".tools" / "prism" for root in (Path.cwd(), Path(__file__).parents[1])]
    found = next((place for place in places if place.is_file()), None)
    on_path = shutil.which("prism")
    return found or (Path(on_path) if on_path else None)


@contextmanager
def prism() -> Iterator[str]:
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
