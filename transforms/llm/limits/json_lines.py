"""Messages between a job's quota server and its workers: JSON arrays, one a line."""

import asyncio
import json
from typing import Any


class JsonLines(asyncio.Protocol):
    """One end of a connection; `received` is given every message, however it was cut on its way."""

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
