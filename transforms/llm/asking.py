"""A chat request: from the cache, from another task that asks the same, or from the server."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memlake.transforms.llm.caller import Caller
from memlake.transforms.llm.protocol.model import UNFINISHED, Mode, Reply, Request
from memlake.transforms.llm.protocol.server_capabilities import ServerCapabilities
from memlake.transforms.llm.protocol.wire import Exchange, chat
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.records.calls import new_call_id
from memlake.transforms.llm.single_flight import SingleFlight

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Rather too many: English has four to five bytes a token, JSON and other scripts about three.
BYTES_A_TOKEN = 3
# What a message costs beside its text.
_TOKENS_A_MESSAGE = 8


class Asking:
    """What one process asks of a chat model; used by its event loop only.

    Args:
        client: None when nothing will be sent: offline, or the caller refuses.
        offline: the cache alone answers.
    """

    def __init__(
        self,
        caller: Caller,
        cache: ReplyCache,
        client: "AsyncOpenAI | None",
        *,
        timeout_s: float,
        offline: bool,
    ) -> None:
        self._caller = caller
        self._cache = cache
        self._client = client
        self._timeout_s = timeout_s
        self._offline = offline
        self._habits = ServerCapabilities()
        self._shared: SingleFlight[Reply] = SingleFlight()

    async def ask(self, request: Request, *, stage: str, about: str) -> Reply:
        """See Model.ask."""
        errand = _ChatCall(self, request, stage, about)
        reply, mine = await self._shared.made(errand.request_hash, lambda: self._reply(errand))
        if not mine:
            reply = replace(reply, from_cache=reply.outcome not in UNFINISHED)
            await self._book_hit(errand, reply)
        return reply

    async def _reply(self, errand: "_ChatCall") -> Reply:
        found = self._cache.get(errand.request_hash)
        if found is not None:
            await self._book_hit(errand, found)
            return found
        if self._offline:
            self._caller.books.add(errand, new_call_id(), 0, "missing", detail=errand.about)
            await self._caller.quota.missing(errand.about)
            return Reply(errand.request_hash, "missing", detail="not in the cache, and the run is offline")
        exchange = await self._caller.run(errand)
        if exchange is not None:
            return errand.reply(exchange)
        found = self._cache.get(errand.request_hash)
        assert found is not None  # errand.known() saw it, and nothing takes entries away
        await self._book_hit(errand, found)
        return found

    async def _book_hit(self, errand: "_ChatCall", reply: Reply) -> None:
        """A row for a reply that cost nothing; one that another task has no reply to either is that task's alone."""
        if reply.outcome in UNFINISHED:
            return
        errand.mode = reply.mode
        counts = Exchange(
            reply.outcome,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            tokens_cached=reply.tokens_cached,
        )
        self._caller.books.add(
            errand,
            new_call_id(),
            0,
            reply.outcome,
            detail=reply.detail,
            exchange=counts,
            from_cache=True,
            price_usd=0.0,
        )
        await self._caller.quota.counted(cached=1)


class _ChatCall:
    def __init__(self, asking: Asking, request: Request, stage: str, about: str) -> None:
        self._asking = asking
        self._request = request
        self._body: dict[str, Any] = {}
        self.about = about
        self.stage = stage
        self.model = request.model
        self.request_hash = request.hash(asking._caller.books.provider)
        self.room = request.max_tokens
        text = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
        self.tokens = text // BYTES_A_TOKEN + _TOKENS_A_MESSAGE * len(request.messages) + self.room
        self.mode: Mode = asking._habits.mode(request)
        self._next = self.mode

    def known(self) -> bool:
        return self._asking._cache.get(self.request_hash) is not None

    async def send(self) -> Exchange:
        client = self._asking._client
        assert client is not None  # the caller does not get here without one
        self.mode = self._next
        self._body = self._asking._habits.body(self._request, self.mode)
        exchange = await chat(client, self._body, timeout_s=self._asking._timeout_s)
        if exchange.status is None:
            self._asking._habits.took(self._request, self.mode)
        return exchange

    def again(self, exchange: Exchange) -> bool:
        other = self._asking._habits.other_mode(self._request, self.mode, self._body, exchange)
        self._next = other or self.mode
        return other is not None

    def keep(self, exchange: Exchange) -> None:
        asking = self._asking
        provider = asking._caller.books.provider
        asking._cache.put(self.reply(exchange), request=self._request, provider=provider, about=self.about)

    def reply(self, exchange: Exchange) -> Reply:
        return Reply(
            self.request_hash,
            exchange.outcome,
            exchange.text,
            exchange.detail,
            self.mode,
            exchange.tokens_in,
            exchange.tokens_out,
            exchange.tokens_cached,
        )
