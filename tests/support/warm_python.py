"""Python in a process of its own that need not import memlake first: it is forked from one that has.

Most of a command's time is spent on importing Beam, Lance and pandas. What a test looks at is the process (its exit code,
its output, its death), which is as real here; tests of the start itself use `sys.executable`, and so do those that set
what the interpreter reads at its start (PYTHONHASHSEED).
"""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NoReturn, Self, TypedDict

_IMPORTED = (
    "memlake.flows.cli.main", "memlake.flows.demo", "memlake.flows.embed", "memlake.flows.forget", "memlake.flows.ingest",
    "memlake.flows.link", "memlake.flows.represent", "memlake.flows.study", "memlake.transforms.lake.query.connect",
)  # fmt: skip
_LARGEST_REQUEST = 1 << 20


class _Request(TypedDict):
    arguments: list[str]
    cwd: str
    env: dict[str, str]


class Process:
    """A running process that was forked; use it in a `with`."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        output: IO[str],
        errors: IO[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Run `python ARGUMENTS`.

        Args:
            arguments: as for the interpreter; they begin with -m MODULE or -c CODE.
            output: an open file for what it prints.
            errors: an open file for what it prints on stderr.
            cwd: where; by default here.
            env: all of its environment; by default this one.
        """
        self.arguments = list(arguments)
        request = _Request(
            arguments=self.arguments, cwd=str(cwd or Path.cwd()), env=dict(os.environ if env is None else env)
        )
        self._ended, theirs = socket.socketpair()
        with theirs:
            files = [output.fileno(), errors.fileno(), theirs.fileno()]
            socket.send_fds(_parent(), [json.dumps(request).encode()], files)
        self._replies = self._ended.makefile()
        self.pid = int(self._replies.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._replies.close()
        self._ended.close()

    def kill(self) -> None:
        """End it by SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout_s: float) -> int:
        """The exit code, negative for a signal.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout_s` seconds.
        """
        self._ended.settimeout(timeout_s)
        try:
            return int(self._replies.readline())
        except TimeoutError as error:
            raise subprocess.TimeoutExpired(self.arguments, timeout_s) from error


def run(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout_s: float = 110.0
) -> "subprocess.CompletedProcess[str]":
    """Run `python ARGUMENTS` to its end, as `Process` does.

    Raises:
        subprocess.TimeoutExpired: it took more than `timeout_s` seconds, and was killed.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        Process(arguments, output=output, errors=errors, cwd=cwd, env=env) as process,
    ):
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, code, output.read(), errors.read())


@cache
def _parent() -> socket.socket:
    """The process from which all others are forked; it ends when this socket is closed, so at the latest with us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, __file__], stdin=theirs, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until nobody is left to ask."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait are waited for by nobody
    while True:
        request, files, *_ = socket.recv_fds(requests, _LARGEST_REQUEST, 3)
        if not request:
            return
        if not os.fork():
            requests.close()
            _wait_for(json.loads(request), *files)
        for file in files:
            os.close(file)


def _wait_for(request: _Request, output: int, errors: int, ended: int) -> NoReturn:
    """Fork what was asked for; tell its id at once and its exit code at its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if not child:
        os.close(ended)
        _become(request, output, errors)
    with socket.socket(fileno=ended) as replies:
        replies.sendall(f"{child}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        replies.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(request: _Request, output: int, errors: int) -> NoReturn:
    """Be the process that was asked for; never return."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    how, what, *rest = request["arguments"]
    sys.argv = [how, *rest]
    code = 1
    try:
        if how == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  # as the interpreter does, whatever it is
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    import importlib
    import warnings

    for module in _IMPORTED:
        importlib.import_module(module)
    warnings.filterwarnings("ignore", "lance is not fork-safe")  # nothing of it runs before the fork
    with socket.socket(fileno=os.dup(0)) as asked, Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
        _serve(asked)
