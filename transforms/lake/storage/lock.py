"""The lake's writer lock: one file that names its holder, taken over when the holder is dead."""

import fcntl
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memlake.transforms.base.errors import LakeBusyError, LakeConflictError
from memlake.transforms.lake.storage.place import put_text

HEARTBEAT_S = 5.0
STALE_AFTER_S = 60.0
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock: enough to tell a dead holder from a living one, here or on another host."""

    token: str
    host: str
    pid: int
    process_start: int
    run_id: str
    since: float

    def is_dead(self, heartbeat_age_s: float) -> bool:
        """Whether its process is gone from this host, or its heartbeat is stale wherever it runs."""
        gone = self.host == socket.gethostname() and _process_start(self.pid) != self.process_start
        return gone or heartbeat_age_s > STALE_AFTER_S

    def describe(self) -> str:
        """The holder in words, for an error message."""
        return f"run={self.run_id} host={self.host} pid={self.pid} since {time.time() - self.since:.0f} s"


@dataclass(slots=True)
class Lock:
    """A held lock; `check` says whether it still is."""

    path: Path
    holder: Holder
    _stop: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise LakeConflictError when another writer has taken the lock over."""
        if read_holder(self.path) != self.holder:
            raise LakeConflictError(
                f"lock={self.path} was taken over by another writer; this run publishes nothing",
                hint="run the command again",
            )

    def beat(self) -> None:
        """Show, until the lock is released, that the holder lives."""
        while not self._stop.wait(HEARTBEAT_S):
            with _guard(self.path):
                if read_holder(self.path) != self.holder:
                    return
                os.utime(self.path)

    def release(self) -> None:
        """Stop the heartbeat and remove the lock, unless another writer has it by now."""
        self._stop.set()
        with _guard(self.path):
            if read_holder(self.path) == self.holder:
                self.path.unlink()


def read_holder(path: Path) -> Holder | None:
    """Who holds the lock at this path; None when nobody does."""
    try:
        return Holder(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None


@contextmanager
def acquire(path: Path, run_id: str, *, timeout_s: float) -> Iterator[Lock]:
    """Hold the lock, waiting up to `timeout_s` for a living holder and none for a dead one.

    Raises:
        LakeBusyError: a living writer kept the lock for longer.
    """
    me = Holder(
        token=secrets.token_hex(16),
        host=socket.gethostname(),
        pid=os.getpid(),
        process_start=_process_start(os.getpid()),
        run_id=run_id,
        since=time.time(),
    )
    deadline = time.monotonic() + timeout_s
    while (other := _try(path, me)) is not None:
        if time.monotonic() >= deadline:
            raise LakeBusyError(
                f"lake={path.parent} is being written by {other.describe()}; waited {timeout_s:g} s",
                hint="wait for it to finish, or raise --lock-timeout",
            )
        time.sleep(_POLL_S)
    lock = Lock(path, me)
    beating = threading.Thread(target=lock.beat, name="lake-lock-heartbeat", daemon=True)
    beating.start()
    try:
        yield lock
    finally:
        lock.release()
        beating.join()  # a thread that is still there when the interpreter ends can abort the process


def _try(path: Path, me: Holder) -> Holder | None:
    """Take the lock if nobody alive has it; else say who does."""
    with _guard(path):
        other = read_holder(path)
        if other is not None and not other.is_dead(time.time() - path.stat().st_mtime):
            return other
        put_text(path, json.dumps(asdict(me)))
        return None


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """Make reading and replacing the lock file one step; the kernel frees the guard of a killed process."""
    with path.with_name("lock.guard").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _process_start(pid: int) -> int:
    """Start time of a process in clock ticks since boot, so that a reused pid is told apart; 0 when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0 if Path("/proc/self").exists() else _alive(pid)
    fields = stat[stat.rindex(")") + 2 :].split()
    return 0 if fields[0] == "Z" else int(fields[19])


def _alive(pid: int) -> int:
    """1 when the process exists, 0 when not: all that a host without /proc can tell."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return 0
    except PermissionError:
        return 1
    return 1
