"""One request through the quota and over the wire, recorded and kept; tried again while that is worth it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Protocol

from memlake.transforms.llm.limits.quota_client import QuotaClient
from memlake.transforms.llm.protocol.model import Mode, ModelStoppedError, Reply
from memlake.transforms.llm.protocol.retry import delay
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy
from memlake.transforms.llm.protocol.server_capabilities import ServerCapabilities
from memlake.transforms.llm.protocol.wire import Exchange, FatalError, TransientError
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.records.calls import CallLog, new_call_id
from memlake.transforms.llm.records.prices import Price, price_of
from memlake.transforms.llm.single_flight import SingleFlight

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# A wait that a server asked for may be minutes; a run that is stopped meanwhile should not sit it out.
_LONGEST_NAP_S = 1.0
_COUNTS = ("tokens_in", "tokens_out", "tokens_cached")
# Outcomes of requests that were refused before the model saw them: they cost nothing.
_UNSEEN = ("too_long", "rejected")


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

    def is_kept(self) -> bool:
        """Whether the cache has it by now: another process or run asked the same."""

    async def send(self) -> Exchange:
        """Make one exchange; raises what wire.py raises."""

    def again(self, exchange: Exchange) -> bool:
        """Whether what was refused can be asked in another form, which `send` does next."""

    def keep(self, exchange: Exchange) -> None:
        """Put what came of it into the cache."""


@dataclass(slots=True)
class _Attempt:
    call: ModelCall
    call_id: str
    number: int
    grant: int
    latency_s: float = 0.0


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
        call: ModelCall,
        outcome: str,
        *,
        attempt: _Attempt | None = None,
        detail: str = "",
        counts: Exchange | Reply | None = None,
        from_cache: bool = False,
        price_usd: float | None = None,
    ) -> None:
        """Write one row; a call that is not sent has no attempt, and an id of its own.

        Args:
            counts: what has the call's token counts.
        """
        self.log.add(
            call_id=attempt.call_id if attempt else new_call_id(),
            attempt=attempt.number if attempt else 0,
            request_hash=call.request_hash,
            stage=call.stage,
            provider=self.provider,
            model=call.model,
            outcome=outcome,
            cell=self.cell,
            mode=call.mode,
            from_cache=from_cache,
            price_usd=price_usd,
            latency_s=attempt.latency_s if attempt else None,
            detail=detail,
            **({name: getattr(counts, name) for name in _COUNTS} if counts else {}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What the calls of one edge share; used by its event loop only.

    Attributes:
        client: None when nothing will be sent: offline, or there is a refusal.
        timeout_s: of one exchange.
        offline: the cache alone answers.
        refusal: why nothing can be called at all; then nothing is.
        secret: the API key, so that a server that repeats it does not get it into `calls`; '' for none.
        hint: what to do about a refusal, by its ModelStoppedError code and HTTP status.
        sleep, clock, random: the event loop's, or a test's.
    """

    quota: QuotaClient
    flights: SingleFlight
    cache: ReplyCache
    recorder: CallRecorder
    client: "AsyncOpenAI | None"
    timeout_s: float
    offline: bool
    retry: RetryPolicy
    refusal: FatalError | None
    secret: str
    hint: Callable[[str, int | None], str]
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    random: Random
    capabilities: ServerCapabilities = field(default_factory=ServerCapabilities)

    async def run(self, call: ModelCall) -> Exchange | None:
        """What came of a call, recorded and kept; None when another process or run was first and the cache has it.

        Raises:
            ModelStoppedError: the run is to stop.
        """
        if self.refusal is not None:
            raise await self._stop(self.refusal)
        async with self.flights.alone(call.request_hash):
            return None if call.is_kept() else await self._run(call)

    async def _run(self, call: ModelCall) -> Exchange:
        call_id, tries, spent_s = new_call_id(), 0, 0.0
        price = self.recorder.price(call.model, call.tokens - call.room, call.room, 0) or 0.0
        number = -1
        while True:
            number += 1
            # Ahead of first attempts where one of this call failed.
            grant = await self.quota.acquire(tokens=call.tokens, price_usd=price, again=number > 0)
            attempt = _Attempt(call, call_id, number, grant)
            try:
                exchange = await self._send(attempt)
            except TransientError as problem:
                detail = self._clean(problem.detail)
                spent_s += attempt.latency_s
                wait_s = delay(self.retry, tries, problem.retry_after_s, spent_s, self.random.random())
                await self._failed(attempt, detail, "transient" if wait_s is None else "retry")
                if wait_s is None:
                    return Exchange("transient", detail=detail)
                await self._pause(wait_s)
                spent_s += wait_s
                tries += 1
            except FatalError as problem:
                detail = self._clean(problem.detail)
                self.recorder.add(call, "fatal", attempt=attempt, detail=detail)
                stopped = await self._stop(problem)  # before the release, which lets another call out
                await self.quota.release(grant, outcome="fatal", detail=detail)
                raise stopped from None
            except BaseException as problem:  # cancelled, or a fault of ours: nothing stays held, and it was a call
                await self._failed(attempt, type(problem).__name__, "retry")
                raise
            else:
                exchange = replace(exchange, detail=self._clean(exchange.detail))
                if await self._settle(attempt, exchange):
                    return exchange

    async def _send(self, attempt: _Attempt) -> Exchange:
        started = self.clock()
        try:
            return await attempt.call.send()
        finally:
            attempt.latency_s = self.clock() - started

    async def _stop(self, problem: FatalError) -> ModelStoppedError:
        """Stop the whole run; return the error to raise, which is the first reason when there was one before."""
        message = f"{self.recorder.provider} refuses: {self._clean(problem.detail)}"
        return await self.quota.stop(problem.code, message, self.hint(problem.code, problem.status))

    async def _settle(self, attempt: _Attempt, exchange: Exchange) -> bool:
        """Keep and record what came, and give its grant back; whether that was the end of the call."""
        call = attempt.call
        again = call.again(exchange)
        try:
            if not again:
                call.keep(exchange)  # first, for it is paid
        finally:
            # Also when it cannot be kept, as on a full disk: what was paid is recorded, and the run ends with the error.
            tokens_in, tokens_out = exchange.tokens_in, exchange.tokens_out
            price = self.recorder.price(call.model, tokens_in, tokens_out, exchange.tokens_cached)
            if tokens_in is None:  # a server that counts no tokens is taken to have used what was reserved
                tokens_in, tokens_out = call.tokens - call.room, call.room
            spent = self.recorder.price(call.model, tokens_in, tokens_out, exchange.tokens_cached) or 0.0
            tokens = tokens_in + (tokens_out or 0)
            if exchange.outcome in _UNSEEN:
                price, spent, tokens = 0.0, 0.0, 0
            self.recorder.add(
                call, exchange.outcome, attempt=attempt, detail=exchange.detail, counts=exchange, price_usd=price
            )
            outcome = "retry" if again else exchange.outcome
            await self.quota.release(
                attempt.grant, tokens=tokens, price_usd=spent, outcome=outcome, detail=exchange.detail
            )
        return not again

    async def _failed(self, attempt: _Attempt, detail: str, outcome: str) -> None:
        """Record an attempt that failed for a reason that may pass, and give its grant back."""
        self.recorder.add(attempt.call, "transient", attempt=attempt, detail=detail)
        await self.quota.release(attempt.grant, outcome=outcome, detail=detail)

    async def _pause(self, wait_s: float) -> None:
        """Hold nothing and wait; shorter when the run is stopped, which the next acquire then says."""
        while wait_s > 0 and self.quota.stopped is None:
            await self.sleep(min(wait_s, _LONGEST_NAP_S))
            wait_s -= _LONGEST_NAP_S

    def _clean(self, detail: str) -> str:
        return detail.replace(self.secret, "***") if self.secret else detail
