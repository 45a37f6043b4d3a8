"""One request through the quota, over the wire, into the books; tried again while that is worth it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from memlake.transforms.llm.limits.quota_client import Grant, QuotaClient
from memlake.transforms.llm.protocol.model import Mode, ModelStoppedError
from memlake.transforms.llm.protocol.retry import delay
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy
from memlake.transforms.llm.protocol.wire import Exchange, FatalError, TransientError
from memlake.transforms.llm.records.calls import CallLog, new_call_id
from memlake.transforms.llm.records.prices import Price, price_of
from memlake.transforms.llm.request_locks import RequestLocks

# A wait that a server asked for may be minutes; a run that is stopped meanwhile should not sit it out.
_LONGEST_NAP_S = 1.0
# Between looks whether another process has ended the same request.
_FIRST_LOOK_S = 0.02
_LONGEST_LOOK_S = 0.5


class ModelCall(Protocol):
    """What the caller sees of a request: chat or embeddings.

    Attributes:
        tokens: of request and reply, rather too many, to be reserved while it is under way.
        room: of these, the reply's.
        mode: in which it was sent last.
    """

    request_hash: str
    stage: str
    model: str
    tokens: int
    room: int
    mode: Mode

    def known(self) -> bool:
        """Whether the cache has it by now: another worker asked the same."""
        ...

    async def send(self) -> Exchange:
        """Make one exchange; raises what wire.py raises."""
        ...

    def again(self, exchange: Exchange) -> bool:
        """Whether what was refused can be asked in another form, which `send` does next."""
        ...

    def keep(self, exchange: Exchange) -> None:
        """Put what came of it into the cache."""
        ...


@dataclass(frozen=True, slots=True)
class CallRecorder:
    """What every row of `calls` from here says, and how it is priced."""

    log: CallLog
    provider: str
    cell: str
    prices: tuple[Price, ...]

    def price(self, model: str, tokens_in: int | None, tokens_out: int | None, cached: int | None) -> float | None:
        """US dollars by the price table; None when the tokens or the price are not known."""
        if tokens_in is None:
            return None
        return price_of(self.prices, model, tokens_in, tokens_out or 0, cached or 0)

    def add(
        self,
        errand: ModelCall,
        call_id: str,
        attempt: int,
        outcome: str,
        *,
        detail: str = "",
        exchange: Exchange | None = None,
        latency_s: float | None = None,
        from_cache: bool = False,
        price_usd: float | None = None,
    ) -> None:
        """Write one row."""
        self.log.add(
            call_id=call_id,
            attempt=attempt,
            request_hash=errand.request_hash,
            stage=errand.stage,
            provider=self.provider,
            model=errand.model,
            outcome=outcome,
            cell=self.cell,
            mode=errand.mode,
            from_cache=from_cache,
            tokens_in=exchange.tokens_in if exchange else None,
            tokens_out=exchange.tokens_out if exchange else None,
            tokens_cached=exchange.tokens_cached if exchange else None,
            price_usd=price_usd,
            latency_s=latency_s,
            detail=detail or None,
        )


@dataclass(frozen=True, slots=True)
class Caller:
    """What the calls of one process share.

    Attributes:
        refusal: why nothing can be called at all; then nothing is.
        secret: the API key, so that a server that repeats it does not get it into the books; '' for none.
        hint: what to do about a refusal, by its ModelStoppedError code and HTTP status.
        sleep, clock, random: the event loop's, or a test's.
    """

    quota: QuotaClient
    claims: RequestLocks
    books: CallRecorder
    retry: RetryPolicy
    refusal: FatalError | None
    secret: str
    hint: Callable[[str, int | None], str]
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    random: Random

    async def run(self, errand: ModelCall) -> Exchange | None:
        """What came of an errand, kept and booked; None when another worker or run was first and the cache has it.

        Raises:
            ModelStoppedError: the run is to stop.
        """
        if self.refusal is not None:
            raise await self.stop(self.refusal)
        look_s = _FIRST_LOOK_S
        while not self.claims.take(errand.request_hash):
            await self.sleep(look_s)
            look_s = min(2 * look_s, _LONGEST_LOOK_S)
            if self.quota.stopped is not None:
                raise await self.quota.stop("", "", "")  # the reason that there is stays
        try:
            return await self._run(errand)
        finally:
            self.claims.give(errand.request_hash)

    async def _run(self, errand: ModelCall) -> Exchange | None:
        call_id, tries, spent_s = new_call_id(), 0, 0.0
        attempt = -1
        while True:
            grant = await self._admitted(errand, again=attempt >= 0)
            if grant is None:
                return None
            attempt += 1
            started = self.clock()
            try:
                exchange = await errand.send()
            except TransientError as problem:
                latency_s = self.clock() - started
                spent_s += latency_s
                wait = delay(self.retry, tries, problem.retry_after_s, spent_s, self.random.random())
                detail = self._clean(problem.detail)
                self.books.add(errand, call_id, attempt, "transient", detail=detail, latency_s=latency_s)
                await self._release(grant, "transient" if wait is None else "retry", detail=detail)
                if wait is None:
                    return Exchange("transient", detail=detail)
                await self._pause(wait)
                spent_s += wait
                tries += 1
            except FatalError as problem:
                detail = self._clean(problem.detail)
                self.books.add(errand, call_id, attempt, "fatal", detail=detail, latency_s=self.clock() - started)
                stopped = await self.stop(problem)  # before the release, which lets another call out
                await self._release(grant, "fatal", detail=detail)
                raise stopped from None
            except BaseException as problem:  # cancelled, or a fault of ours: nothing stays held, and it was a call
                detail, latency_s = type(problem).__name__, self.clock() - started
                self.books.add(errand, call_id, attempt, "transient", detail=detail, latency_s=latency_s)
                await self._release(grant, "retry", detail=detail)
                raise
            else:
                latency_s = self.clock() - started
                exchange = replace(exchange, detail=self._clean(exchange.detail))
                if await self._settle(errand, grant, exchange, call_id, attempt, latency_s):
                    return exchange

    async def stop(self, problem: FatalError) -> ModelStoppedError:
        """Stop the whole run; return the error to raise, which is the first reason when there was one before."""
        message = f"{self.books.provider} refuses: {self._clean(problem.detail)}"
        return await self.quota.stop(problem.code, message, self.hint(problem.code, problem.status))

    async def _admitted(self, errand: ModelCall, *, again: bool) -> Grant | None:
        """Leave for one attempt, ahead of first ones where one failed; None when the cache has it meanwhile."""
        price = self.books.price(errand.model, errand.tokens - errand.room, errand.room, 0)
        while True:
            grant = await self.quota.acquire(
                errand.request_hash, tokens=errand.tokens, price_usd=price or 0.0, again=again
            )
            # Not for twins alone: another worker may have ended between our look into the cache and the grant.
            if errand.known():
                await self.quota.release(grant, tokens=0, price_usd=0.0, outcome="unused")
                return None
            if not grant.twin:
                return grant

    async def _settle(
        self, errand: ModelCall, grant: Grant, exchange: Exchange, call_id: str, attempt: int, latency_s: float
    ) -> bool:
        """Keep and book what came; whether that was the end of it."""
        again = errand.again(exchange)
        try:
            if not again:
                errand.keep(exchange)  # first, for it is paid
        finally:
            # Also when it cannot be kept, as on a full disk: what was paid is in the books, and the run ends with the error.
            await self._book(errand, grant, exchange, call_id, attempt, latency_s, again=again)
        return not again

    async def _book(
        self,
        errand: ModelCall,
        grant: Grant,
        exchange: Exchange,
        call_id: str,
        attempt: int,
        latency_s: float,
        *,
        again: bool,
    ) -> None:
        price = self.books.price(errand.model, exchange.tokens_in, exchange.tokens_out, exchange.tokens_cached)
        if exchange.outcome in ("too_long", "rejected"):
            price = 0.0  # refused before the model saw it
        self.books.add(
            errand,
            call_id,
            attempt,
            exchange.outcome,
            detail=exchange.detail,
            exchange=exchange,
            latency_s=latency_s,
            price_usd=price,
        )
        outcome = "retry" if again else exchange.outcome
        await self._release(grant, outcome, detail=exchange.detail, errand=errand, exchange=exchange)

    async def _release(
        self,
        grant: Grant,
        outcome: str,
        *,
        detail: str,
        errand: ModelCall | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        """Give a grant back; a server that counts no tokens is taken to have used what was reserved."""
        tokens, price = 0, 0.0
        if errand and exchange and exchange.outcome not in ("too_long", "rejected"):
            counted_in, counted_out = exchange.tokens_in, exchange.tokens_out
            if counted_in is None:
                counted_in, counted_out = errand.tokens - errand.room, errand.room
            tokens = counted_in + (counted_out or 0)
            price = self.books.price(errand.model, counted_in, counted_out, exchange.tokens_cached) or 0.0
        await self.quota.release(grant, tokens=tokens, price_usd=price, outcome=outcome, detail=detail)

    async def _pause(self, wait_s: float) -> None:
        """Hold nothing and wait; shorter when the run is stopped, which the next acquire then says."""
        while wait_s > 0 and self.quota.stopped is None:
            await self.sleep(min(wait_s, _LONGEST_NAP_S))
            wait_s -= _LONGEST_NAP_S

    def _clean(self, detail: str) -> str:
        return detail.replace(self.secret, "***") if self.secret else detail
