"""A worker's side of the job's quota: one connection a process, any number of calls over it."""

import asyncio
import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.llm.protocol.model import ModelStoppedError

# Of what a server said; the messages to the quota server are short.
_LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to call the server once; a twin has none: another worker just ended the same request, so see the cache.

    Attributes:
        twin: nothing is held and nothing to be released. When the cache does not have it, acquire again.
    """

    number: int
    twin: bool


class QuotaClient:
    """Asks the driver's quota server for leave to call; all of its methods belong to one event loop.

    When the run is stopped, every `acquire` raises the one reason, those that wait already too.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._stopped: ModelStoppedError | None = None
        self._lost = False
        self._wire: _Wire | None = None

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
            _, client._wire = await asyncio.get_running_loop().create_connection(lambda: _Wire(client), host, int(port))
        except OSError as error:
            raise client._refusal() from error
        await client._request("hello", token)
        return client

    @property
    def stopped(self) -> ModelStoppedError | None:
        """Why the run is to stop; None while it may go on."""
        return self._stopped

    async def acquire(self, request_hash: str, *, tokens: int, price_usd: float, again: bool = False) -> Grant:
        """Wait until the job's limits allow one more call; first come, first served.

        An attempt that failed and is tried again acquires again, and holds nothing while it waits to.

        Args:
            tokens: of request and reply, as an estimate that is rather too high.
            price_usd: the most that it may cost.
            again: an attempt failed before; it goes before those that were not tried yet.

        Raises:
            ModelStoppedError: the run is stopped.
        """
        number = next(self._numbers)
        try:
            twin = await self._request("acquire", request_hash, tokens, price_usd, again, number=number)
        except asyncio.CancelledError:
            self._send("cancel", number, number)
            raise
        return Grant(number, bool(twin))

    async def release(self, grant: Grant, *, tokens: int, price_usd: float, outcome: str, detail: str = "") -> None:
        """Give back a grant, with what the call really took; also after a call that failed.

        Args:
            tokens, price_usd: as they were; 0 when the server took none.
            outcome: an Outcome; 'retry' when the attempt failed and another follows; 'fatal'; or 'unused' when no call
                was made. Only 'transient', said of a call whose last attempt failed, counts towards the limit of calls
                that fail in a row.
            detail: the error, of those that failed.
        """
        if not grant.twin:
            await self._request("release", grant.number, tokens, price_usd, outcome, detail[:_LONGEST_TEXT])

    async def stop(self, code: str, message: str, hint: str) -> ModelStoppedError:
        """Stop the whole run, unless it is stopped already; return the reason that counts."""
        await self._request("stop", code, message[:_LONGEST_TEXT], hint)
        assert self._stopped is not None  # the server tells everyone before it answers
        return self._stopped

    async def missing(self, about: str) -> None:
        """Tell that a reply was not in the cache, offline."""
        await self._request("missing", about[:_LONGEST_TEXT])

    async def counted(self, *, cached: int) -> None:
        """Tell how many more requests the cache answered."""
        await self._request("counted", cached)

    async def close(self) -> None:
        """Disconnect; what is still held goes back."""
        if self._wire is not None:
            self._wire.close()
            await self._wire.closed
            self._wire = None

    async def _request(self, what: str, *values: object, number: int | None = None) -> Any:
        if self._lost or (what == "acquire" and self._stopped is not None):
            raise self._refusal()
        number = next(self._numbers) if number is None else number
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send(what, number, *values)
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def _send(self, what: str, *values: object) -> None:
        if self._wire is not None and not self._lost:
            self._wire.send([what, *values])

    def _receive(self, message: list[Any]) -> None:
        match message:
            case ["ok", number, value]:
                answer = self._waiting.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(value)
            case ["refused", number]:
                self._refuse(number)
            case ["stopped", code, text, hint]:
                self._stopped = ModelStoppedError(text, code=code, hint=hint)

    def _disconnected(self) -> None:
        self._lost = True
        for number in list(self._waiting):
            self._refuse(number)

    def _refuse(self, number: int) -> None:
        answer = self._waiting.get(number)
        if answer is not None and not answer.done():
            answer.set_exception(self._refusal())

    def _refusal(self) -> MemlakeError:
        """Why there is no leave; a new error each time: one raised in many tasks would gather all their tracebacks."""
        if self._stopped is not None:
            return ModelStoppedError(self._stopped.message, code=self._stopped.code, hint=self._stopped.hint)
        place = self._address.partition("/")[0]  # never the token
        return MemlakeError(f"the run's quota server at {place} is gone: its driver has ended", hint="run it again")


class _Wire(asyncio.Protocol):
    """JSON arrays, one a line; those of one turn of the loop are sent together: each write wakes the driver's thread."""

    def __init__(self, client: QuotaClient) -> None:
        self._client = client
        self._held = b""
        self._unsent: list[bytes] = []
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self._client._receive(json.loads(line))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it so
        self._client._disconnected()
        if not self.closed.done():
            self.closed.set_result(None)

    def send(self, message: list[object]) -> None:
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._unsent and not self._transport.is_closing():  # else asyncio complains on stderr
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()
