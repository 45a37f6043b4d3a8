"""The process of a test server: HTTP/1.1 on asyncio, written out so that it can fail where a real one fails.

python openai_process.py        (settings as a line of JSON on stdin; ends when stdin or its parent does)
"""

import asyncio
import json
import os
import sys

import openai_answers as answers
from openai_record import Seen
from openai_service import Service, Settings

MOST_BODY_BYTES = 64 * 2**20


class Connection(asyncio.Protocol):
    """One client's connection: requests one after the other, each answered before the next is read."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.buffer = bytearray()
        self.pending: Seen | None = None
        self.waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.service.record.connections += 1

    def connection_lost(self, _: Exception | None) -> None:
        if self.waiting:
            self.waiting.cancel()
        if self.pending:
            self.pending = None
            self.service.record.count_answer(None)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.pending:
            self._next()

    def _next(self) -> None:
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        try:
            method, path, headers, length = read_head(bytes(self.buffer[:end]))
        except ValueError as problem:
            self._out(answers.error(400, str(problem), "invalid_request_error"))
            self.transport.close()
            return
        if len(self.buffer) < end + 4 + length:
            return
        body = bytes(self.buffer[end + 4 : end + 4 + length])
        del self.buffer[: end + 4 + length]
        self._serve(method, path, headers, body)

    def _serve(self, method: str, path: str, headers: dict[bytes, bytes], body: bytes) -> None:
        if path.startswith("/control/"):
            try:
                self._out(self.service.control(path, body))
            except (ValueError, TypeError, KeyError, ImportError, AttributeError) as problem:
                self._out(answers.error(400, repr(problem), "control"))
        elif (method, path) == ("GET", "/v1/models"):
            models = self.service.settings.models or ("test-model",)
            data = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in models]
            self._out(answers.response(200, {"object": "list", "data": data}))
        elif method == "POST" and path in ("/v1/chat/completions", "/v1/embeddings"):
            self._answer(path, headers, body)
        else:
            self._out(answers.error(404, f"Invalid URL ({method} {path})", "invalid_request_error"))

    def _answer(self, path: str, headers: dict[bytes, bytes], body: bytes) -> None:
        service = self.service
        self.pending = service.record.count_request(path, body)
        answer, delay_s = service.answer(path, headers, self.pending)
        if service.settings.hold_after is not None and service.record.calls > service.settings.hold_after:
            service.held.append(lambda: self.write(answer))
        elif delay_s:
            self.waiting = asyncio.get_running_loop().call_later(delay_s, self.write, answer)
        else:
            self.write(answer)

    def write(self, answer: answers.Answer) -> None:
        """Send the answer to the request that waits, unless its client has gone."""
        seen, self.pending, self.waiting = self.pending, None, None
        if seen is None:
            return
        seen.status = answer.status
        self.service.record.count_answer(answer)
        self._out(answer)

    def _out(self, answer: answers.Answer) -> None:
        if answer.ending == "none":
            self.transport.abort()
        elif answer.ending == "half":
            body_at = answer.wire.index(b"\r\n\r\n") + 4
            self.transport.write(answer.wire[: (body_at + len(answer.wire)) // 2])
            self.transport.close()
        else:
            self.transport.write(answer.wire)
            self._next()


class Parent(asyncio.Protocol):
    """The pipe from the test: its end is the server's end."""

    def connection_lost(self, _: Exception | None) -> None:
        os._exit(0)


def read_head(head: bytes) -> tuple[str, str, dict[bytes, bytes], int]:
    """Method, path, headers and the body's length.

    Raises:
        ValueError: it is not HTTP, or a body of no known or of too great a length.
    """
    first, *lines = head.split(b"\r\n")
    method, path, _ = first.decode("latin-1").split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    length = int(headers.get(b"content-length", b"0"))
    if not 0 <= length <= MOST_BODY_BYTES or b"transfer-encoding" in headers:
        raise ValueError(f"a body of {length} bytes; at most {MOST_BODY_BYTES}, with their number ahead")
    return method, path.partition("?")[0], headers, length


async def _end_with(parent: int) -> None:
    """End with the parent, even where a fork of it still holds the pipe."""
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
    os._exit(0)


async def main() -> None:
    """Serve until the parent goes."""
    service = Service(Settings().changed(json.loads(sys.stdin.readline())))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(service), "127.0.0.1", 0, backlog=1024)
    await loop.connect_read_pipe(Parent, sys.stdin)
    print(server.sockets[0].getsockname()[1], flush=True)
    await _end_with(os.getppid())


if __name__ == "__main__":
    asyncio.run(main())
