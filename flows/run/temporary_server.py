"""A Prefect server for one command: on loopback, in a home of its own, gone when the command is gone."""

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memlake.transforms.base.errors import PrefectUnavailableError

# Prefect's own limit of 20 s is missed on a first start on an empty home (PrefectHQ/prefect#16397; 75 s have been seen).
START_LIMIT_SETTING = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
START_LIMIT_S = 180.0
STOP_LIMIT_S = 15.0
ANSWER_LIMIT_S = 10.0
POLL_S = 0.1
LOG_TAIL_CHARS = 2_000

NOTICE = "starting a temporary Prefect server (about 10 s; PREFECT_API_URL names a running one to use instead)"
# Run on a socket that is bound already: a port that is only looked up as free may be taken a moment later.
SERVE = """
import socket, sys, uvicorn
config = uvicorn.Config("prefect.server.api.server:create_app", factory=True, lifespan="on", log_level="error")
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""


@dataclass(frozen=True, slots=True)
class TemporaryServer:
    """A server that has been started: its port, the folder of its database, its supervisor and its log."""

    port: int
    home: Path
    supervisor: "subprocess.Popen[bytes]"
    log: IO[bytes]

    @property
    def url(self) -> str:
        """The URL of its API."""
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def client_environment(self) -> dict[str, str]:
        """The settings by which this process and its children reach the server and leave the user's files alone."""
        return {"PREFECT_API_URL": self.url, "PREFECT_HOME": str(self.home)}

    def wait_until_ready(self) -> None:
        """Return when the server answers.

        Raises:
            PrefectUnavailableError: it ended, or did not answer in time; with the end of its log.
        """
        limit_s = float(os.environ.get(START_LIMIT_SETTING) or START_LIMIT_S)
        deadline = time.monotonic() + limit_s
        while not answers(self.port):
            if self.supervisor.poll() is not None:
                raise PrefectUnavailableError(f"the temporary Prefect server ended at its start: {self._log_tail()}")
            if time.monotonic() > deadline:
                message = f"the temporary Prefect server did not answer within {limit_s:.0f} s: {self._log_tail()}"
                raise PrefectUnavailableError(message, hint=f"raise {START_LIMIT_SETTING}, or run without --prefect")
            time.sleep(POLL_S)

    def _log_tail(self) -> str:
        """The end of what the server printed."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-LOG_TAIL_CHARS:].strip() or "it printed nothing"


def answers(port: int) -> bool:
    """Ask a Prefect server on loopback for its health, past any configured proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_LIMIT_S)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def temporary_server(*, quiet: bool = False) -> Iterator[TemporaryServer]:
    """Start a server and stop it at the end; it may not be ready yet, so that the caller can import Prefect meanwhile.

    Tells the user on stderr what the command waits for, unless it is to be quiet. A supervisor process kills the server when this process is gone,
    even by SIGKILL, and removes its folder.
    """
    if not quiet:
        sys.stderr.write(f"memlake: {NOTICE}\n")
        sys.stderr.flush()
    home = Path(tempfile.mkdtemp(prefix="memlake-prefect-"))
    with socket.socket() as listener, tempfile.TemporaryFile() as log:
        listener.bind(("127.0.0.1", 0))
        script = Path(__file__).with_name("supervisor.py")
        serve = [sys.executable, "-P", "-c", SERVE, str(listener.fileno())]
        supervisor = subprocess.Popen(
            [sys.executable, "-P", str(script), str(home), *serve],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=_server_environment(home),
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
        server = TemporaryServer(listener.getsockname()[1], home, supervisor, log)
        try:
            listener.close()
            yield server
        finally:
            _stop(supervisor)


def _server_environment(home: Path) -> dict[str, str]:
    """The environment without the user's Prefect settings, which may name a database that this server must not touch."""
    ours = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home}/prefect.db",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        "DO_NOT_TRACK": "1",
    }
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | ours


def _stop(supervisor: "subprocess.Popen[bytes]") -> None:
    """Close the pipe that the supervisor watches and wait until it has cleaned up."""
    assert supervisor.stdin is not None
    supervisor.stdin.close()
    try:
        supervisor.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        supervisor.terminate()
        supervisor.wait()
