"""Vectors of texts: each from the cache, from another task that wants it too, or from the server, many at a time."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memlake.transforms.base.ids import content_id
from memlake.transforms.llm.asking import BYTES_A_TOKEN
from memlake.transforms.llm.caller import Caller
from memlake.transforms.llm.protocol.model import Embedded, Mode, Outcome
from memlake.transforms.llm.protocol.server_capabilities import ServerCapabilities
from memlake.transforms.llm.protocol.wire import Exchange, embed
from memlake.transforms.llm.records.cache import ReplyCache, embedding_hash
from memlake.transforms.llm.records.calls import new_call_id
from memlake.transforms.llm.single_flight import SingleFlight

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MOST_TEXTS = 256
# OpenAI takes 300,000 in all; an estimate may be off by a good deal.
_MOST_TOKENS = 100_000
_BYTES_A_FLOAT = 4


class Embedding:
    """What one process asks of embedding models; used by its event loop only.

    Args:
        client: None when nothing will be sent: offline, or the caller refuses.
        offline: the cache alone answers.
    """

    def __init__(
        self, caller: Caller, cache: ReplyCache, client: "AsyncOpenAI | None", *, timeout_s: float, offline: bool
    ) -> None:
        self._caller = caller
        self._cache = cache
        self._client = client
        self._timeout_s = timeout_s
        self._offline = offline
        self._habits = ServerCapabilities()
        self._shared: SingleFlight[Embedded] = SingleFlight()
        self._bytes: dict[str, int] = {}  # of a vector, by model: that of its first reply

    async def embed(self, model: str, texts: Sequence[str], *, about: str) -> list[Embedded]:
        """See TextEmbedder.embed."""
        provider = self._caller.books.provider
        hashes = [embedding_hash(provider, model, text) for text in texts]
        wanted = dict(zip(hashes, texts, strict=True))
        found: dict[str, Embedded] = {}
        await self._from_cache(model, wanted, found, about)
        while missing := {name: text for name, text in wanted.items() if name not in found}:
            if self._offline:
                found |= await self._not_there(model, missing, about)
                break
            mine = {name: text for name, text in missing.items() if self._shared.promise(name) is not None}
            await self._from_server(model, mine, found, about)
            for name in missing.keys() - mine.keys():
                # One that another task failed to make is this task's in the next round.
                if (made := await self._shared.result(name)) is not None:
                    found[name] = made
                elif (kept := self._cache.get_vector(name)) is not None:
                    found[name] = kept
        return [found[name] for name in hashes]

    async def _from_cache(self, model: str, wanted: dict[str, str], found: dict[str, Embedded], about: str) -> None:
        """Add what the cache has; one row of `calls` for all of it."""
        for name in wanted:
            if (kept := self._cache.get_vector(name)) is not None:
                found[name] = kept
        if found:
            errand = _EmbedCall(self, model, {name: wanted[name] for name in found}, about)
            outcome = "ok" if all(one.outcome == "ok" for one in found.values()) else "rejected"
            self._caller.books.add(errand, new_call_id(), 0, outcome, from_cache=True, price_usd=0.0)
            await self._caller.quota.counted(cached=len(found))

    async def _not_there(self, model: str, missing: dict[str, str], about: str) -> dict[str, Embedded]:
        errand = _EmbedCall(self, model, missing, about)
        self._caller.books.add(errand, new_call_id(), 0, "missing", detail=about)
        await self._caller.quota.missing(f"{about} ({len(missing)} texts)")
        return dict.fromkeys(missing, Embedded("missing", detail="not in the cache, and the run is offline"))

    async def _from_server(self, model: str, mine: dict[str, str], found: dict[str, Embedded], about: str) -> None:
        """Add what the server gives; whatever happens, those who wait for it are told."""
        made: list[dict[str, Embedded] | BaseException] = []
        try:
            batches = [self._batch(model, batch, about) for batch in _batches(mine)]
            # All are awaited even if one fails: what is under way is paid.
            made = await asyncio.gather(*batches, return_exceptions=True)
            for one in made:
                if isinstance(one, dict):
                    found |= one
        finally:
            for name in mine:
                self._shared.fulfil(name, found.get(name))
        for one in made:
            if isinstance(one, BaseException):
                raise one

    async def _batch(self, model: str, texts: dict[str, str], about: str) -> dict[str, Embedded]:
        errand = _EmbedCall(self, model, texts, about)
        exchange = await self._caller.run(errand)
        if exchange is None:
            kept = {name: self._cache.get_vector(name) for name in texts}
            return {name: one for name, one in kept.items() if one is not None}
        if exchange.outcome == "transient":
            return dict.fromkeys(texts, Embedded("transient", detail=exchange.detail))
        done = errand.results(exchange)
        left = {name: text for name, text in texts.items() if name not in done}
        # Refused as a whole, or garbled in part: what is at fault is found by asking for less.
        size = len(left) if done else (len(left) + 1) // 2
        names = list(left)
        parts = [names[:size], names[size:]]
        smaller = [self._batch(model, {name: left[name] for name in part}, about) for part in parts if part]
        for one in await asyncio.gather(*smaller):
            done |= one
        return done


class _EmbedCall:
    stage = "embed"
    room = 0
    mode: Mode = ""

    def __init__(self, embedding: Embedding, model: str, texts: dict[str, str], about: str) -> None:
        self._embedding = embedding
        self._texts = texts
        self._about = about
        self._packed = embedding._habits.packed(model)
        self.model = model
        self.request_hash = next(iter(texts)) if len(texts) == 1 else content_id("embeddings", *texts)
        self.tokens = sum(map(_tokens, texts.values()))

    def known(self) -> bool:
        return all(self._embedding._cache.get_vector(name) is not None for name in self._texts)

    async def send(self) -> Exchange:
        embedding = self._embedding
        client = embedding._client
        assert client is not None  # the caller does not get here without one
        texts = list(self._texts.values())
        exchange = await embed(client, self.model, texts, base64_floats=self._packed, timeout_s=embedding._timeout_s)
        if exchange.status is None:
            embedding._habits.took_packed(self.model, packed=self._packed)
        return exchange

    def again(self, exchange: Exchange) -> bool:
        if not self._embedding._habits.other_packing(self.model, packed=self._packed, exchange=exchange):
            return False
        self._packed = False
        return True

    def keep(self, exchange: Exchange) -> None:
        embedding = self._embedding
        alone = len(self._texts) == 1
        for name, embedded in self.results(exchange).items():
            embedding._cache.put_vector(
                name,
                embedded,
                model=self.model,
                provider=embedding._caller.books.provider,
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
        if sizes:
            self._embedding._bytes.setdefault(self.model, sizes.most_common(1)[0][0])
        right = self._embedding._bytes.get(self.model, 0)
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
    outcome: Outcome = "rejected"
    return Embedded(outcome, detail=detail)


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
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN + 1
