"""A chat request: from the cache, from another task that asks the same, or from the server."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memlake.transforms.llm.caller import Caller
from memlake.transforms.llm.protocol.model import UNFINISHED, Mode, Reply, Request
from memlake.transforms.llm.protocol.wire import Exchange, chat

# Rather too many: English has four to five bytes a token, JSON and other scripts about three.
BYTES_A_TOKEN = 3
# What a message costs beside its text.
_TOKENS_A_MESSAGE = 8


async def ask(caller: Caller, request: Request, *, stage: str, about: str) -> Reply:
    """See Model.ask."""
    call = _ChatCall(caller, request, stage, about)
    reply = caller.cache.get(call.request_hash)
    if reply is None:

        async def make(_: Sequence[str]) -> dict[str, Reply]:
            return {call.request_hash: await _asked(caller, call)}

        replies, made = await caller.flights.results([call.request_hash], make, caller.cache.get)
        reply = replies[call.request_hash]
        if not made:
            reply = replace(reply, from_cache=reply.outcome not in UNFINISHED)
        elif not reply.from_cache:
            return reply
    await _record_hit(caller, call, reply)
    return reply


async def _asked(caller: Caller, call: "_ChatCall") -> Reply:
    if caller.offline:
        caller.recorder.add(call, "missing", detail=call.about)
        await caller.quota.missing(call.about)
        return Reply(call.request_hash, "missing", detail="not in the cache, and the run is offline")
    exchange = await caller.run(call)
    if exchange is not None:
        return call.reply(exchange)
    kept = caller.cache.get(call.request_hash)
    assert kept is not None  # call.is_kept() saw it, and nothing takes entries away
    return kept


async def _record_hit(caller: Caller, call: "_ChatCall", reply: Reply) -> None:
    """A row for a reply that cost nothing; one that another task has no reply to either is that task's alone."""
    if reply.outcome in UNFINISHED:
        return
    call.mode = reply.mode
    counts = Exchange(
        reply.outcome, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, tokens_cached=reply.tokens_cached
    )
    caller.recorder.add(call, reply.outcome, detail=reply.detail, exchange=counts, from_cache=True, price_usd=0.0)
    await caller.quota.counted(cached=1)


class _ChatCall:
    def __init__(self, caller: Caller, request: Request, stage: str, about: str) -> None:
        self._caller = caller
        self._request = request
        self._body: dict[str, Any] = {}
        self.about = about
        self.stage = stage
        self.model = request.model
        self.request_hash = request.hash(caller.recorder.provider)
        self.room = request.max_tokens
        text = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
        self.tokens = text // BYTES_A_TOKEN + _TOKENS_A_MESSAGE * len(request.messages) + self.room
        self.mode: Mode = caller.capabilities.mode(request)
        self._next = self.mode

    def is_kept(self) -> bool:
        return self._caller.cache.get(self.request_hash) is not None

    async def send(self) -> Exchange:
        caller = self._caller
        assert caller.client is not None  # the caller does not get here without one
        self.mode = self._next
        self._body = caller.capabilities.body(self._request, self.mode)
        exchange = await chat(caller.client, self._body, timeout_s=caller.timeout_s)
        if exchange.status is None:
            caller.capabilities.took(self._request, self.mode)
        return exchange

    def again(self, exchange: Exchange) -> bool:
        other = self._caller.capabilities.other_mode(self._request, self.mode, self._body, exchange)
        self._next = other or self.mode
        return other is not None

    def keep(self, exchange: Exchange) -> None:
        provider = self._caller.recorder.provider
        self._caller.cache.put(self.reply(exchange), request=self._request, provider=provider, about=self.about)

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
