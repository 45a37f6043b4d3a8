"""A worker's side of the job's quota: one connection a process, any number of calls over it."""

import asyncio
import json
from itertools import count
from typing import Any

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.llm.protocol.model import ModelStoppedError

# Of what a server said; the messages to the quota server are short.
_LONGEST_TEXT = 2000


class JsonLines(asyncio.Protocol):
    """One end of a connection between a job's quota server and a worker: JSON arrays, one a line.

    `received` is given every message, however it was cut on its way.
    """

    def __init__(self) -> None:
        self._held = b""
        self._unsent: list[bytes] = []

    def received(self, message: Any) -> None:
        """Act on one message."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self.received(json.loads(line))

    def send(self, *message: object) -> None:
        """Send one message; those of one turn of the loop go together: each write wakes the other end's thread."""
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self.flush)
        self._unsent.append(json.dumps(message).encode() + b"\n")

    def flush(self) -> None:
        """Hand over what is not sent yet."""
        if self._unsent and not self._transport.is_closing():  # else asyncio complains on stderr
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()


class QuotaClient(JsonLines):
    """Asks the driver's quota server for leave to call; all of its methods belong to one event loop.

    When the run is stopped, every `acquire` raises the one reason, those that wait already too.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._stopped: ModelStoppedError | None = None
        self._closed = asyncio.Event()

    @classmethod
    async def connect(cls, address: str) -> "QuotaClient":
        """Connect to 'host:port/token', the address that `quota_server` gave.

        Raises:
            MemlakeError: nobody listens there.
        """
        client = cls(address)
        place, _, token = address.partition("/")
        host, _, port = place.rpartition(":")
        try:
            await asyncio.get_running_loop().create_connection(lambda: client, host, int(port))
        except OSError as error:
            raise client._refusal() from error
        await client._request("hello", token)
        return client

    @property
    def stopped(self) -> ModelStoppedError | None:
        """Why the run is to stop; None while it may go on.

        A new error each time: one raised in many tasks would gather all their tracebacks.
        """
        reason = self._stopped
        return reason and ModelStoppedError(reason.message, code=reason.code, hint=reason.hint)

    async def acquire(self, *, tokens: int, price_usd: float, again: bool = False) -> int:
        """Wait until the job's limits allow one more call, first come, first served; return the grant's number.

        An attempt that failed and is tried again acquires again, and holds nothing while it waits to.

        Args:
            tokens: of request and reply, as an estimate that is rather too high.
            price_usd: the most that it may cost.
            again: an attempt failed before; it goes before those that were not tried yet.

        Raises:
            ModelStoppedError: the run is stopped.
        """
        if self._stopped is not None:
            raise self._refusal()
        number = next(self._numbers)
        try:
            await self._request("acquire", tokens, price_usd, again, number=number)
        except asyncio.CancelledError:
            if not self._closed.is_set():
                self.send("cancel", number, number)
            raise
        return number

    async def release(
        self, grant: int, *, outcome: str, tokens: int = 0, price_usd: float = 0.0, detail: str = ""
    ) -> None:
        """Give back a grant, with what the call really took; also after a call that failed.

        Args:
            outcome: an Outcome; 'retry' when the attempt failed and another follows; or 'fatal'. Only 'transient', said
                of a call whose last attempt failed, counts towards the limit of calls that fail in a row.
            tokens, price_usd: as they were; 0 when the server took none.
            detail: the error, of those that failed.
        """
        await self._request("release", grant, tokens, price_usd, outcome, detail[:_LONGEST_TEXT])

    async def stop(self, code: str, message: str, hint: str) -> ModelStoppedError:
        """Stop the whole run, unless it is stopped already; return the first reason to stop."""
        await self._request("stop", code, message[:_LONGEST_TEXT], hint)
        assert self._stopped is not None  # the server tells everyone before it answers
        return self._stopped

    async def missing(self, about: str) -> None:
        """Report that a reply was not in the cache, offline."""
        await self._request("missing", about[:_LONGEST_TEXT])

    async def counted(self, *, cached: int) -> None:
        """Report how many more requests the cache answered."""
        await self._request("counted", cached)

    async def close(self) -> None:
        """Disconnect; what is still held goes back."""
        self.flush()
        self._transport.close()
        await self._closed.wait()

    def received(self, message: list[Any]) -> None:
        """Act on one message of the server."""
        match message:
            case ["ok", number]:
                answer = self._waiting.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(None)
            case ["refused", number]:
                self._refuse(number)
            case ["stopped", code, text, hint]:
                self._stopped = ModelStoppedError(text, code=code, hint=hint)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it so
        """See asyncio.Protocol."""
        self._closed.set()
        for number in list(self._waiting):
            self._refuse(number)

    async def _request(self, what: str, *values: object, number: int | None = None) -> None:
        if self._closed.is_set():
            raise self._refusal()
        number = next(self._numbers) if number is None else number
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self.send(what, number, *values)
        try:
            await answer
        finally:
            self._waiting.pop(number, None)

    def _refuse(self, number: int) -> None:
        answer = self._waiting.get(number)
        if answer is not None and not answer.done():
            answer.set_exception(self._refusal())

    def _refusal(self) -> MemlakeError:
        """Why there is no leave."""
        place = self._address.partition("/")[0]  # never the token
        gone = MemlakeError(f"the run's quota server at {place} is gone: its driver has ended", hint="run it again")
        return self.stopped or gone
