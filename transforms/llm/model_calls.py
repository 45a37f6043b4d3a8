"""A chat request, or many texts to embed: from the cache, from another task that asks the same, or from the server."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memlake.transforms.base.ids import content_id
from memlake.transforms.llm.caller import Caller
from memlake.transforms.llm.protocol import wire
from memlake.transforms.llm.protocol.model import UNFINISHED, Embedded, Mode, Reply, Request
from memlake.transforms.llm.protocol.wire import Exchange
from memlake.transforms.llm.records.cache import embedding_hash

# Rather too many: English has four to five bytes a token, JSON and other scripts about three.
_BYTES_A_TOKEN = 3
# What a message costs beside its text.
_TOKENS_A_MESSAGE = 8
MOST_TEXTS = 256
# OpenAI takes 300,000 in all; an estimate may be off by a good deal.
_MOST_TOKENS = 100_000
_BYTES_A_FLOAT = 4


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
    caller.recorder.add(call, reply.outcome, detail=reply.detail, counts=reply, from_cache=True, price_usd=0.0)
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
        self.tokens = text // _BYTES_A_TOKEN + _TOKENS_A_MESSAGE * len(request.messages) + self.room
        self.mode: Mode = caller.capabilities.mode(request)
        self._next = self.mode

    def is_kept(self) -> bool:
        return self._caller.cache.get(self.request_hash) is not None

    async def send(self) -> Exchange:
        caller = self._caller
        assert caller.client is not None  # the caller does not get here without one
        self.mode = self._next
        self._body = caller.capabilities.body(self._request, self.mode)
        exchange = await wire.chat(caller.client, self._body, timeout_s=caller.timeout_s)
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


async def embed(caller: Caller, model: str, texts: Sequence[str], *, about: str) -> list[Embedded]:
    """See TextEmbedder.embed."""
    hashes = [embedding_hash(caller.recorder.provider, model, text) for text in texts]
    text_of = dict(zip(hashes, texts, strict=True))
    found = _kept(caller, text_of)
    if found:
        call = _EmbedCall(caller, model, {name: text_of[name] for name in found}, about)
        outcome = "ok" if all(embedded.outcome == "ok" for embedded in found.values()) else "rejected"
        caller.recorder.add(call, outcome, from_cache=True, price_usd=0.0)
        await caller.quota.counted(cached=len(found))
    missing = {name: text for name, text in text_of.items() if name not in found}
    if missing and caller.offline:
        caller.recorder.add(_EmbedCall(caller, model, missing, about), "missing", detail=about)
        await caller.quota.missing(f"{about} ({len(missing)} texts)")
        found |= dict.fromkeys(missing, Embedded("missing", detail="not in the cache, and the run is offline"))
    elif missing:

        async def make(names: Sequence[str]) -> dict[str, Embedded]:
            return await _from_server(caller, model, {name: text_of[name] for name in names}, about)

        found |= (await caller.flights.results(list(missing), make, caller.cache.get_vector))[0]
    return [found[name] for name in hashes]


def _kept(caller: Caller, texts: dict[str, str]) -> dict[str, Embedded]:
    """What the cache has of them."""
    kept = ((name, caller.cache.get_vector(name)) for name in texts)
    return {name: embedded for name, embedded in kept if embedded is not None}


async def _from_server(caller: Caller, model: str, texts: dict[str, str], about: str) -> dict[str, Embedded]:
    batches = [_batch(caller, model, batch, about) for batch in _batches(texts)]
    # All are awaited even if one fails: what is under way is paid.
    ended = await asyncio.gather(*batches, return_exceptions=True)
    found: dict[str, Embedded] = {}
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        found |= result
    return found


async def _batch(caller: Caller, model: str, texts: dict[str, str], about: str) -> dict[str, Embedded]:
    call = _EmbedCall(caller, model, texts, about)
    exchange = await caller.run(call)
    if exchange is None:
        return _kept(caller, texts)
    if exchange.outcome == "transient":
        return dict.fromkeys(texts, Embedded("transient", detail=exchange.detail))
    done = call.results(exchange)
    left = {name: text for name, text in texts.items() if name not in done}
    # Refused as a whole, or garbled in part: what is at fault is found by asking for less.
    size = len(left) if done else (len(left) + 1) // 2
    names = list(left)
    parts = [names[:size], names[size:]]
    smaller = [_batch(caller, model, {name: left[name] for name in part}, about) for part in parts if part]
    for embedded in await asyncio.gather(*smaller):
        done |= embedded
    return done


class _EmbedCall:
    stage = "embed"
    room = 0
    mode: Mode = ""

    def __init__(self, caller: Caller, model: str, texts: dict[str, str], about: str) -> None:
        self._caller = caller
        self._texts = texts
        self._about = about
        self._packed = caller.capabilities.packed(model)
        self.model = model
        self.request_hash = next(iter(texts)) if len(texts) == 1 else content_id("embeddings", *texts)
        self.tokens = sum(map(_tokens, texts.values()))

    def is_kept(self) -> bool:
        return all(self._caller.cache.get_vector(name) is not None for name in self._texts)

    async def send(self) -> Exchange:
        caller = self._caller
        assert caller.client is not None  # the caller does not get here without one
        texts = list(self._texts.values())
        exchange = await wire.embed(
            caller.client, self.model, texts, base64_floats=self._packed, timeout_s=caller.timeout_s
        )
        if exchange.status is None:
            caller.capabilities.took_packed(self.model, packed=self._packed)
        return exchange

    def again(self, exchange: Exchange) -> bool:
        if not self._caller.capabilities.other_packing(self.model, packed=self._packed, exchange=exchange):
            return False
        self._packed = False
        return True

    def keep(self, exchange: Exchange) -> None:
        alone = len(self._texts) == 1
        for name, embedded in self.results(exchange).items():
            self._caller.cache.put_vector(
                name,
                embedded,
                model=self.model,
                provider=self._caller.recorder.provider,
                text=self._texts[name],
                about=self._about,
                tokens=exchange.tokens_in if alone else None,
            )

    def results(self, exchange: Exchange) -> dict[str, Embedded]:
        """What is the last word on a text; the others of a batch are to be asked for in a smaller one."""
        alone = len(self._texts) == 1
        if exchange.outcome != "ok":
            return {name: Embedded(exchange.outcome, detail=exchange.detail) for name in self._texts if alone}
        sizes = Counter(len(vector) for vector in exchange.vectors if vector)
        seen = self._caller.capabilities.vector_bytes
        if sizes:
            seen.setdefault(self.model, sizes.most_common(1)[0][0])
        right = seen.get(self.model, 0)
        found: dict[str, Embedded] = {}
        for name, vector in zip(self._texts, exchange.vectors, strict=True):
            if vector and len(vector) != right:
                found[name] = _rejected(f"dimension={len(vector) // _BYTES_A_FLOAT}, others {right // _BYTES_A_FLOAT}")
            elif vector:
                found[name] = Embedded("ok", vector)
            elif alone:
                found[name] = _rejected("the reply has no vector of finite numbers for it")
        return found


def _rejected(detail: str) -> Embedded:
    return Embedded("rejected", detail=detail)


def _batches(texts: dict[str, str]) -> list[dict[str, str]]:
    """Texts in batches that one request may hold; one that is too long for any stands alone."""
    batches: list[dict[str, str]] = []
    tokens = 0
    for name, text in texts.items():
        tokens += _tokens(text)
        if not batches or len(batches[-1]) >= MOST_TEXTS or tokens > _MOST_TOKENS:
            batches.append({})
            tokens = _tokens(text)
        batches[-1][name] = text
    return batches


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN + 1
