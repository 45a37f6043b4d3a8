"""One HTTP exchange with a server that speaks OpenAI's protocol; nothing here tries twice."""

import asyncio
import base64
import binascii
import json
import math
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import byteorder
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from memlake.transforms.llm.protocol.model import Outcome
from memlake.transforms.llm.protocol.retry import Failure, judge, mapping
from memlake.transforms.text.clean import Parsed, parse_json

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_CONNECT_S = 10.0
_NO_KEY = "none"
_POOLS = 8


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one HTTP exchange came to, when it came to anything that belongs to its request.

    Attributes:
        code, param: of a rejection, as the server named them.
        status: of a rejection.
        vectors: of an embedding, little-endian float32 bytes a text; empty where the reply has none for it.
    """

    outcome: Outcome
    text: str = ""
    detail: str = ""
    code: str = ""
    param: str = ""
    status: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    vectors: tuple[bytes, ...] = ()


class TransientError(Exception):
    """It failed for a reason that may pass: trying again is the caller's decision."""

    def __init__(self, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class FatalError(Exception):
    """No further call can succeed: a bad key, no such model, no quota. `code` is ModelStoppedError's."""

    def __init__(self, code: str, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = status


def open_client(base_url: str, *, api_key: str, timeout_s: float) -> "AsyncOpenAI":
    """A client without retries of its own; make it inside the event loop that will use it, once.

    Args:
        api_key: '' sends no Authorization header.
    """
    # Imported here: it takes most of a second, and `memlake --help` asks no model.
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    # The calls in flight are counted by the quota; a pool with limits of its own would only hide a queue.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    # A transport of our own would pass over a proxy that the environment names.
    transport = None if getproxies() else _pools(limits)
    timeout = httpx2.Timeout(timeout_s, connect=_CONNECT_S, pool=None)
    http = DefaultAsyncHttpxClient(timeout=timeout, limits=limits, transport=transport)
    return AsyncOpenAI(base_url=base_url, api_key=api_key or _NO_KEY, max_retries=0, http_client=http)


def _pools(limits: "httpx2.Limits") -> "httpx2.AsyncBaseTransport":
    """A transport of several small pools: a pool looks at each of its connections for every request."""
    import httpx2

    class Pools(httpx2.AsyncBaseTransport):
        def __init__(self) -> None:
            # The certificates are read once: that takes longer than all the rest.
            trusted = httpx2.create_ssl_context()
            self._pools = [httpx2.AsyncHTTPTransport(verify=trusted, limits=limits) for _ in range(_POOLS)]
            self._busy = [0] * _POOLS

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            # The least busy, so that no pool opens a connection while another has one to spare.
            chosen = min(range(_POOLS), key=self._busy.__getitem__)
            self._busy[chosen] += 1
            try:
                return await self._pools[chosen].handle_async_request(request)
            finally:
                self._busy[chosen] -= 1

        async def aclose(self) -> None:
            for pool in self._pools:
                await pool.aclose()

    return Pools()


async def chat(client: "AsyncOpenAI", body: Mapping[str, Any], *, timeout_s: float) -> Exchange:
    """Ask for a chat completion.

    Args:
        body: see `ServerCapabilities.body`.
        timeout_s: from the request to the end of the reply, however slowly it trickles.

    Raises:
        TransientError, FatalError: see there; an item's own failure is an outcome.
    """
    reply = await _post(client, "/chat/completions", body, timeout_s)
    if isinstance(reply, Exchange):
        return reply
    choices = reply.get("choices")
    choice = mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise TransientError(f"a reply without a message: {json.dumps(reply)[:500]}")
    usage = mapping(reply.get("usage"))
    text, refusal, finish = _text(message.get("content")), message.get("refusal"), choice.get("finish_reason")
    outcome: Outcome = "ok"
    detail = ""
    if isinstance(refusal, str) and refusal:
        outcome, detail = "refused", refusal
    elif finish in ("length", "max_tokens"):
        outcome, detail = "cut", f"finish_reason={finish}"
    elif finish in ("content_filter", "safety"):
        outcome, detail = "filtered", f"finish_reason={finish}"
    elif finish == "error":
        raise TransientError("finish_reason=error")
    return Exchange(
        outcome,
        text,
        detail,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        tokens_cached=_count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )


async def embed(
    client: "AsyncOpenAI", model: str, texts: Sequence[str], *, base64_floats: bool, timeout_s: float
) -> Exchange:
    """Ask for one vector a text; those that the reply lacks or garbles are empty.

    Args:
        base64_floats: ask for packed floats, a quarter of the bytes; lists are read either way.

    Raises:
        TransientError, FatalError: see there.
    """
    body: dict[str, Any] = {"model": model, "input": list(texts)}
    if base64_floats:
        body["encoding_format"] = "base64"
    reply = await _post(client, "/embeddings", body, timeout_s)
    if isinstance(reply, Exchange):
        return reply
    data = reply.get("data")
    if not isinstance(data, list):
        raise TransientError(f"a reply without vectors: {json.dumps(reply)[:500]}")
    usage = mapping(reply.get("usage"))
    return Exchange("ok", vectors=_vectors(data, len(texts)), tokens_in=_count(usage.get("prompt_tokens")))


async def _post(
    client: "AsyncOpenAI", path: str, body: Mapping[str, Any], timeout_s: float
) -> Exchange | Mapping[str, Any]:
    """The reply's JSON object, or the exchange when the request itself is at fault."""
    import httpx2
    from openai import APIConnectionError, APIStatusError, Omit

    # A server that needs no key is sent none; the client insists on some and sends it unless told each time.
    headers: Any = {"Authorization": Omit()} if client.api_key == _NO_KEY else {}
    try:
        # httpx's limits are on each read, so a server that sends a byte a minute would hold the call for ever.
        async with asyncio.timeout(timeout_s):
            # The plain response: a pydantic object of it costs as much again and refuses what odd servers leave out.
            response = await client.post(path, body=body, cast_to=httpx2.Response, options={"headers": headers})
    except TimeoutError:
        raise TransientError(f"no reply within {timeout_s:g} s") from None
    except APIStatusError as error:
        return _failed(judge(error.status_code, error.body, error.response.headers, time.time()))
    except APIConnectionError as error:
        at = f"{client.base_url.scheme}://{client.base_url.netloc.decode()}"  # without user and password
        raise TransientError(f"{type(error).__name__} at {at}: {error.__cause__ or error}") from None
    except UnicodeEncodeError as error:
        return Exchange("rejected", detail=f"the request is not Unicode text: {error.reason}")
    parsed = parse_json(response.content)
    reply = parsed.value if isinstance(parsed, Parsed) else None
    if not isinstance(reply, Mapping):
        raise TransientError(f"the body is no JSON object: {response.content[:200]!r}")
    error_in_it = reply.get("error")
    if error_in_it and "choices" not in reply and "data" not in reply:
        # Proxies that had sent their status before the model failed: it then stands in `code`.
        code = mapping(error_in_it).get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        return _failed(judge(status, reply, response.headers, time.time()))
    return reply


def _failed(failure: Failure) -> Exchange:
    if failure.kind == "transient":
        raise TransientError(failure.detail, retry_after_s=failure.retry_after_s)
    if failure.kind == "fatal":
        raise FatalError(failure.stop, failure.detail, status=failure.status)
    return Exchange(
        failure.outcome, detail=failure.detail, code=failure.code, param=failure.param, status=failure.status
    )


def _vectors(data: list[Any], count: int) -> tuple[bytes, ...]:
    """Vectors by the index that each names; by place when none does and their number is right."""
    indexed = all(isinstance(mapping(entry).get("index"), int) for entry in data)
    if not indexed and len(data) != count:
        return (b"",) * count
    found = [b""] * count
    taken: set[int] = set()
    for place, entry in enumerate(data):
        index = entry["index"] if indexed else place
        if index in taken:
            # Two vectors for one text, as from a server that numbers every entry 0: none of them can be trusted.
            return (b"",) * count
        taken.add(index)
        if 0 <= index < count:
            found[index] = _floats(mapping(entry).get("embedding"))
    return tuple(found)


def _floats(value: object) -> bytes:
    """Little-endian float32 bytes of a vector, packed or a list; empty when it is neither, or holds NaN or infinity."""
    try:
        if isinstance(value, str):
            packed = base64.b64decode(value, validate=True)
            floats = array("f", packed)
            if byteorder == "big":
                floats.byteswap()
        elif isinstance(value, list):
            floats = array("f", value)
        else:
            return b""
    except (ValueError, TypeError, OverflowError, binascii.Error):
        return b""
    if not all(map(math.isfinite, floats)):
        return b""
    if byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def _text(content: object) -> str:
    """The reply's text: a string, or parts of which those of type text count."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [mapping(part).get("text") for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _count(value: object) -> int | None:
    """A token count; None when the server gave none that is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
