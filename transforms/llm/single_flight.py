"""Each request is under way once, whoever wants its reply: tasks of an event loop, edges of a process, other runs on a lake.

Tasks of one loop are handed what came of it, a failure too: they would ask the same server in the same way. All others wait
until it is no longer under way, then look into the cache, and ask where the reply is not there.

Between processes a request under way is a lock on one byte of a file in the lake, at a place that its hash names. The kernel
frees it when its process ends, however it ends.
"""

import asyncio
import fcntl
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

_BITS = 128
_PLACES = 62
# Between looks whether a request of another edge or process is still under way.
_FIRST_LOOK_S = 0.02
_LONGEST_LOOK_S = 0.5
Result = TypeVar("Result")


class SingleFlight:
    """The requests of one edge; used by its event loop only.

    Args:
        root: the lake's folder.
        sleep: waits so many seconds; raises when the run was stopped meanwhile.
    """

    def __init__(self, root: Path, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._sleep = sleep
        self._under_way: dict[str, asyncio.Future[Any]] = {}
        self._locks = _open_locks(root / "staged" / "calls" / "claims.lock")

    async def results(
        self,
        names: Sequence[str],
        make: Callable[[list[str]], Awaitable[Mapping[str, Result]]],
        look: Callable[[str], Result | None],
    ) -> tuple[dict[str, Result], set[str]]:
        """The result of each name, and the names that this task made; the others were handed on by other tasks.

        A task that is cancelled or fails hurts no other: those that wait for its results look again and make the rest.

        Args:
            make: the results of names that no other task of this loop is making.
            look: a result that may be there by now, after another task failed to make it with others.
        """
        found: dict[str, Result] = {}
        made: set[str] = set()
        while missing := [name for name in names if name not in found]:
            others = {name: self._under_way[name] for name in missing if name in self._under_way}
            mine = [name for name in missing if name not in others]
            if mine:
                results = await self._made(mine, make)
                found |= results
                made.update(results)
            for name, other in others.items():
                # Shielded: a task that is cancelled while it waits must not cancel what the others wait for.
                result = await asyncio.shield(other)
                result = look(name) if result is None else result
                if result is not None:
                    found[name] = result
        return found, made

    async def _made(
        self, names: list[str], make: Callable[[list[str]], Awaitable[Mapping[str, Result]]]
    ) -> Mapping[str, Result]:
        self._under_way |= {name: asyncio.get_running_loop().create_future() for name in names}
        results: Mapping[str, Result] = {}
        try:
            results = await make(names)
        finally:
            for name in names:
                self._under_way.pop(name).set_result(results.get(name))
        return results

    @asynccontextmanager
    async def alone(self, request_hash: str) -> AsyncIterator[None]:
        """Hold a request that no other edge and no other process holds; wait until then."""
        look_s = _FIRST_LOOK_S
        while not self._locks.take(request_hash):
            await self._sleep(look_s)
            look_s = min(2 * look_s, _LONGEST_LOOK_S)
        try:
            yield
        finally:
            self._locks.give(request_hash)

    def close(self) -> None:
        """Let go of the lake; nothing is under way any more."""
        _close_locks(self._locks)


class _Locks:
    """A process's locks on a lake's requests.

    To the kernel all edges of a process are one holder, so they share these; and a process that closes any descriptor of
    a file loses all its locks on it, so the file is open once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.edges = 0
        self._guard = threading.Lock()
        self._taken: set[str] = set()
        self._file: int | None = None

    def take(self, request_hash: str) -> bool:
        """Lock a request; False while it is under way elsewhere."""
        with self._guard:
            if request_hash in self._taken:
                return False
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(request_hash))
            except (BlockingIOError, PermissionError):  # POSIX allows either
                return False
            self._taken.add(request_hash)
            return True

    def give(self, request_hash: str) -> None:
        """Let go of a request."""
        with self._guard:
            self._taken.discard(request_hash)
            if self._file is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(request_hash))

    def close(self) -> None:
        """Let go of all."""
        with self._guard:
            if self._file is not None:
                os.close(self._file)
                self._file = None


def _place(request_hash: str) -> int:
    return int(request_hash, 16) >> (_BITS - _PLACES)


_open: dict[Path, _Locks] = {}
_guard = threading.Lock()


def _open_locks(path: Path) -> _Locks:
    with _guard:
        locks = _open.setdefault(path, _Locks(path))
        locks.edges += 1
        return locks


def _close_locks(locks: _Locks) -> None:
    with _guard:
        locks.edges -= 1
        if not locks.edges:
            _open.pop(locks.path, None)
            locks.close()


def _forget() -> None:
    """After a fork: the locks are the parent's alone, and the guard may be held by a thread that is not here."""
    global _guard
    _open.clear()
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_forget)
