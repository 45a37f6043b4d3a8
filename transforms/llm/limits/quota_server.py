"""The driver's side of the job's quota: one small server on loopback, so that a limit holds for all worker processes.

The address holds a secret, and a connection that does not begin with it is closed.
When a connection ends, however it ends, what it held goes back.
"""

import asyncio
import hmac
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memlake.transforms.llm.limits.quota import Limits, Quota, Ticket
from memlake.transforms.llm.limits.quota_client import JsonLines
from memlake.transforms.llm.protocol.model import ModelStoppedError

_HOST = "127.0.0.1"
_LONGEST_LINE = 1 << 16
_NAMED = 10


class QuotaServer:
    """What the job's workers did, readable from the driver's threads while they do it.

    Attributes:
        address: 'host:port/token', for `QuotaClient.connect`.
        missing: what the first replies that were missing offline were about; `missing_count` is how many they are.
        cached_calls: requests that the cache answered.
    """

    def __init__(self, limits: Limits) -> None:
        self.address = ""
        self.missing: list[str] = []
        self.missing_count = 0
        self.cached_calls = 0
        self._quota = Quota(limits, time.monotonic)
        self._token = secrets.token_hex(16)
        self._connections: set[_Connection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_stop_sent = False

    @property
    def stopped(self) -> ModelStoppedError | None:
        """Why the run is to stop; None while it may go on."""
        return self._quota.stopped

    @property
    def spent_usd(self) -> float:
        """What the calls that ended did cost."""
        return self._quota.spent_usd

    @property
    def paid_calls(self) -> int:
        """Calls that were answered, whatever the answer; those that failed for a reason that may pass are not paid."""
        return self._quota.answered

    @property
    def attempts(self) -> int:
        """Calls that were admitted, those that failed too."""
        return self._quota.calls

    @property
    def most_in_flight(self) -> int:
        """The most calls that were under way at a time."""
        return self._quota.most_in_flight

    async def open(self) -> asyncio.Server:
        """Listen at a port of the system's choice."""
        server = await asyncio.get_running_loop().create_server(lambda: _Connection(self), _HOST, 0)
        port = server.sockets[0].getsockname()[1]
        self.address = f"{_HOST}:{port}/{self._token}"
        return server

    def close(self) -> None:
        """Hang up on everyone."""
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._connections):
            connection.close()

    def is_secret(self, token: object) -> bool:
        """Whether this is the secret of the address."""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), self._token.encode())

    def joined(self, connection: "_Connection") -> None:
        """Take in a connection that knows the secret; tell it when the run is stopped already."""
        self._connections.add(connection)
        if self.stopped is not None:
            connection.send(*self._reason(self.stopped))

    def left(self, connection: "_Connection") -> None:
        """Give back what a connection held."""
        self._connections.discard(connection)
        self._quota.drop(connection)
        self._settle()

    def handle(self, connection: "_Connection", what: str, number: int, values: list[Any]) -> None:
        """Act on one message and answer it; `acquire` is answered when it is decided."""
        quota, held = self._quota, connection.tickets
        answers = True
        match what, values:
            case "acquire", [tokens, price, again]:
                held[number] = quota.acquire(connection, tokens=tokens, price_usd=price, again=again)
                connection.numbers[held[number]] = number
                answers = False
            case "release", [which, tokens, price, outcome, detail]:
                quota.release(connection.pop(which), tokens=tokens, price_usd=price, outcome=outcome, detail=detail)
            case "cancel", [which]:
                quota.take_back(connection.pop(which))
                answers = False
            case "stop", [code, message, hint]:
                quota.stop(code, message, hint)
            case "missing", [about]:
                self.missing_count += 1
                if len(self.missing) < _NAMED:
                    self.missing.append(about)
            case "counted", [cached]:
                self.cached_calls += cached
            case _:
                raise ValueError(f"message={what!r} of {len(values)} values is not known")
        self._settle()
        if answers:
            connection.send("ok", number)

    def _settle(self) -> None:
        """Tell what was decided, and look again when a window opens."""
        decided = self._quota.decided()
        if self.stopped is not None and not self._is_stop_sent:
            self._is_stop_sent = True
            for connection in self._connections:
                connection.send(*self._reason(self.stopped))
        for ticket in decided:
            if isinstance(ticket.owner, _Connection):
                ticket.owner.answer(ticket)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self._quota.next_at()
        if at is not None:
            self._timer = asyncio.get_running_loop().call_later(max(at - time.monotonic(), 0.0), self._settle)

    @staticmethod
    def _reason(stopped: ModelStoppedError) -> list[object]:
        return ["stopped", stopped.code, stopped.message, stopped.hint]


class _Connection(JsonLines):
    """One worker process."""

    def __init__(self, server: QuotaServer) -> None:
        super().__init__()
        self._server = server
        self._is_known = False
        self.tickets: dict[int, Ticket] = {}
        self.numbers: dict[Ticket, int] = {}

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
            if len(self._held) > _LONGEST_LINE:
                raise ValueError("no end of a line")
        except (ValueError, TypeError, KeyError):
            self.close()  # not one of ours; what it held goes back as it leaves

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it so
        if self._is_known:
            self._is_known = False
            self._server.left(self)

    def answer(self, ticket: Ticket) -> None:
        """Answer an `acquire`."""
        number = self.numbers[ticket]
        if ticket.state == "admitted":
            self.send("ok", number)
        else:
            self.pop(number)
            self.send("refused", number)

    def pop(self, number: int) -> Ticket:
        """The ticket of a number, which is then forgotten."""
        ticket = self.tickets.pop(number)
        del self.numbers[ticket]
        return ticket

    def close(self) -> None:
        """Hang up."""
        self._transport.abort()

    def received(self, message: Any) -> None:
        what, number, *values = message
        if self._is_known:
            self._server.handle(self, what, number, values)
            return
        if what != "hello" or len(values) != 1 or not self._server.is_secret(values[0]):
            raise ValueError("not the secret")
        self._is_known = True
        self._server.joined(self)
        self.send("ok", number)


@contextmanager
def quota_server(limits: Limits) -> Iterator[QuotaServer]:
    """Serve a job's quota from a thread of this process until the block ends; its numbers stay readable after."""
    server = QuotaServer(limits)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="quota-server", daemon=True)
    thread.start()
    try:
        listening = asyncio.run_coroutine_threadsafe(server.open(), loop).result()
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(_end(server, listening), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: QuotaServer, listening: asyncio.Server) -> None:
    """Stop listening and hang up; what a worker reported is here, since it waited for the answer."""
    listening.close()
    server.close()
    await asyncio.sleep(0)  # the transports call `connection_lost` in the next round
