"""The model edge of a worker process: one event loop, one client, one connection to the job's quota, one call log.

Beam's DoFns open it in `setup` and close it in `teardown`; those of one process share it. The loop and the client are made
once and never for a bundle: a client that is used from a second loop fails with connection errors.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, TypeVar
from urllib.parse import urlsplit

from memlake.transforms.llm import model_calls
from memlake.transforms.llm.caller import Caller, CallRecorder
from memlake.transforms.llm.limits.quota_client import QuotaClient
from memlake.transforms.llm.protocol.model import Embedded, Reply, Request
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy
from memlake.transforms.llm.protocol.wire import FatalError, open_client
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.records.calls import CallLog
from memlake.transforms.llm.records.prices import Price
from memlake.transforms.llm.single_flight import SingleFlight

# Never a setting: it would be pickled into a pipeline and land in its logs.
KEY_VARIABLE = "OPENAI_API_KEY"
_NEEDS_KEY = "api.openai.com"
_GIVE_BACK_S = 5.0
_SWITCH_S = 0.0005
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """What a worker needs to call a model; goes through pickle to every worker and holds no key.

    Attributes:
        lake: the lake's root folder, where the cache and the call log lie.
        provider: whose server it is, in rows and in hashes.
        quota: address of the driver's quota server.
        offline: answer from the cache alone.
        timeout_s: one exchange, from the request to the end of the reply.
        cell: the study's cell that asks; '' outside a study.
    """

    lake: str
    run_id: str
    base_url: str
    provider: str
    quota: str
    offline: bool = False
    timeout_s: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    prices: tuple[Price, ...] = ()
    cell: str = ""


class Edge:
    """A Model and a TextEmbedder; `ask` and `embed` may be awaited on any event loop, and run on the edge's own.

    Args:
        sleep, random: for tests that watch how long a call waits.
    """

    def __init__(
        self,
        settings: EdgeSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Random | None = None,
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._random = random or SystemRandom()
        self._users = 1
        self._ended = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        # A daemon: a worker that ends without its teardown must not hang on it.
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-edge", daemon=True)
        self._thread.start()
        # A call crosses threads some ten times. Python lets a thread that computes run on for 5 ms each time, which would
        # cost more than all the rest; those that compute lose next to nothing by stopping more often.
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
        try:
            self.submit(self._start()).result()
        except BaseException:
            self._stop_loop()
            raise

    async def ask(self, request: Request, *, stage: str, about: str) -> Reply:
        """See Model.ask."""
        return await self._here(model_calls.ask(self._caller, request, stage=stage, about=about))

    async def embed(self, model: str, texts: Sequence[str], *, about: str) -> list[Embedded]:
        """See TextEmbedder.embed."""
        return await self._here(model_calls.embed(self._caller, model, texts, about=about))

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Run a coroutine on the edge's loop, for callers that have none.

        Raises:
            RuntimeError: the edge is closed.
        """
        if self._ended:
            work.close()
            raise RuntimeError("the model edge is closed")
        return asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop)

    def close(self) -> None:
        """Give it up; the last user's call cancels what is under way and ends the loop and its thread."""
        with _guard:
            self._users -= 1
            if self._users > 0 or self._ended:
                return
            self._ended = True
            if _open.get(self._settings) is self:
                del _open[self._settings]
        ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        try:
            ended.result()
        finally:
            self._stop_loop()

    async def _here(self, work: Coroutine[Any, Any, Result]) -> Result:
        if asyncio.get_running_loop() is self._loop:
            return await self._tracked(work)
        return await asyncio.wrap_future(self.submit(work))

    async def _tracked(self, work: Coroutine[Any, Any, Result]) -> Result:
        task = asyncio.current_task()
        if task is None or task in self._tasks:
            return await work
        self._tasks.add(task)
        try:
            return await work
        finally:
            self._tasks.discard(task)

    async def _start(self) -> None:
        settings = self._settings
        root = Path(settings.lake)
        key = os.environ.get(KEY_VARIABLE, "").strip()
        refusal = None
        if not key and urlsplit(settings.base_url).hostname == _NEEDS_KEY:
            refusal = FatalError("model_refused", f"{KEY_VARIABLE} is not set", status=401)
        if not is_key(key):
            refusal = FatalError("model_refused", f"{KEY_VARIABLE} holds a sign that no key has", status=401)
        quota = await QuotaClient.connect(settings.quota)
        client = None
        if not settings.offline and refusal is None:
            client = open_client(settings.base_url, api_key=key, timeout_s=settings.timeout_s)
        self._caller = Caller(
            quota=quota,
            flights=SingleFlight(root, self._wait),
            cache=ReplyCache(root),
            recorder=CallRecorder(CallLog(root, settings.run_id), settings.provider, settings.cell, settings.prices),
            client=client,
            timeout_s=settings.timeout_s,
            offline=settings.offline,
            retry=settings.retry,
            refusal=refusal,
            secret=key,
            hint=self._hint,
            sleep=self._sleep,
            clock=self._loop.time,
            random=self._random,
        )

    async def _wait(self, seconds: float) -> None:
        """Wait for another edge or process; no longer than the run goes on."""
        await self._sleep(seconds)
        if (stopped := self._caller.quota.stopped) is not None:
            raise stopped

    def _hint(self, code: str, status: int | None) -> str:
        if code == "model_quota":
            return "when there is quota again, run it again: what was answered is in the cache"
        server = without_secrets(self._settings.base_url)
        if status in (401, 403):
            return f"set {KEY_VARIABLE} to a key that {server} accepts, then run it again"
        return f"curl {server.rstrip('/')}/models lists its models; --base-url or OPENAI_BASE_URL names the server"

    async def _end(self) -> None:
        try:
            # Tasks that ask, and not what they started: libraries end their own tasks, in their own order.
            await _cancel(self._tasks)
            if self._caller.client is not None:
                await self._caller.client.close()
            await self._caller.quota.close()
            await _cancel(asyncio.all_tasks() - {asyncio.current_task()})
        finally:
            self._caller.flights.close()
            self._caller.recorder.log.close()
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def is_key(key: str) -> bool:
    """Whether a header may hold it; where none may, a library's error would repeat the key."""
    return key.isascii() and key.isprintable()


def without_secrets(address: str) -> str:
    """An address without the user and the password that may stand in it, to be shown and kept."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


async def _cancel(tasks: AbstractSet[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks and wait for them; not for long, for a driver that hangs takes no grant back."""
    running = {task for task in tasks if task is not None}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=_GIVE_BACK_S)


_open: dict[EdgeSettings, Edge] = {}
_guard = threading.Lock()


def open_edge(settings: EdgeSettings) -> Edge:
    """The process's edge with these settings; everyone who opens it closes it once.

    Raises:
        MemlakeError: the job's quota server does not answer.
    """
    with _guard:
        edge = _open.get(settings)
        if edge is None:
            edge = _open[settings] = Edge(settings)
        else:
            edge._users += 1
        return edge


def _forget() -> None:
    """After a fork: the loop's thread lives in the parent alone, and the lock may be held by a thread that is not here."""
    global _guard
    _open.clear()
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_forget)
