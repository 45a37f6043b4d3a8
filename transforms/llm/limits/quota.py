"""The accounting behind a job's limits: who may call now, who waits, and when the run is to stop. No I/O.

Calls are admitted in the order in which they were asked for, those that are tried again before the others. A window is any
60 seconds, and counts calls from when they were admitted. Tokens and price are reserved by estimate and corrected by the
real count; a run may pass its tokens a minute only by what an estimate fell short of the count, or by one call that is
larger than the whole limit, which then has the window to itself.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.protocol.model import ModelStoppedError

WINDOW_S = 60.0
_LEAST_IN_A_ROW = 8
State = Literal["waiting", "admitted", "refused", "ended"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What all workers of a job together may do; None is no limit.

    Attributes:
        max_cost_usd: what the whole job may pay.

    Raises:
        UsageError: a limit under which nothing could be called.
    """

    in_flight: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("in_flight", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and value < 1:
                flag = name.replace("in_flight", "max_in_flight").replace("_", "-")
                raise UsageError(f"{flag}={value} allows no call: 1 or more", hint=f"--{flag} N")
        if self.max_cost_usd is not None and not self.max_cost_usd >= 0:
            raise UsageError(f"max-cost={self.max_cost_usd} is no amount of US dollars", hint="--max-cost 5.00")

    @property
    def in_a_row(self) -> int:
        """How many calls may end in transient failure one after the other before the run stops."""
        return max(_LEAST_IN_A_ROW, self.in_flight)


@dataclass(eq=False, slots=True)
class Ticket:
    """One call's place in the queue, then its leave; `owner` is the connection that asked."""

    owner: object
    tokens: int
    price_usd: float
    state: State = "waiting"
    admitted_at: float = 0.0


@dataclass(slots=True)
class Quota:
    """Decides over tickets; the caller asks `decided` after each change and at `next_at`.

    Attributes:
        clock: seconds that never go back.
        spent_usd: what calls that ended did cost.
        lost_usd: reserved by workers that died in the middle of a call, who may have paid it: counted as if they did.
        calls: admitted ones.
        answered: calls that ended with an answer, which is what is paid for.
    """

    limits: Limits
    clock: Callable[[], float]
    spent_usd: float = 0.0
    lost_usd: float = 0.0
    calls: int = 0
    answered: int = 0
    most_in_flight: int = 0
    stopped: ModelStoppedError | None = None
    _queue: deque[Ticket] = field(default_factory=deque)
    _flying: set[Ticket] = field(default_factory=set)
    _reserved_usd: float = 0.0
    _window: deque[Ticket] = field(default_factory=deque)
    _window_tokens: int = 0
    _decided: list[Ticket] = field(default_factory=list)
    _failed_in_a_row: int = 0

    @property
    def in_flight(self) -> int:
        """Calls that are admitted and not released."""
        return len(self._flying)

    def acquire(self, owner: object, *, tokens: int, price_usd: float, again: bool = False) -> Ticket:
        """Ask for leave to call; `decided` says when there is an answer.

        Args:
            again: an attempt failed before. It goes first, so that what is begun ends: were a server dead, a run of
                thousands of calls would else try each of them once before one had used up its attempts.
        """
        ticket = Ticket(owner, tokens, price_usd)
        if self.stopped is not None:
            self._decide(ticket, "refused")
        else:
            (self._queue.appendleft if again else self._queue.append)(ticket)
        return ticket

    def decided(self) -> list[Ticket]:
        """Tickets that were decided since the last look: 'admitted' or 'refused' (stopped)."""
        self._forget()
        while self._queue and self.stopped is None:
            ticket = self._queue[0]
            if ticket.state == "waiting":  # else it was taken back while it stood here
                if len(self._flying) >= self.limits.in_flight or not self._fits_window(ticket):
                    break
                if not self._fits_cost(ticket):
                    break
                self._admit(ticket)
            self._queue.popleft()
        found, self._decided = self._decided, []
        return found

    def next_at(self) -> float | None:
        """When time alone will let the next call through; None when it takes a release, or nobody waits."""
        self._forget()
        first = next((ticket for ticket in self._queue if ticket.state == "waiting"), None)
        if first is None or len(self._flying) >= self.limits.in_flight or self._fits_window(first):
            return None
        requests, tokens = len(self._window), self._window_tokens
        for past in self._window:
            requests, tokens = requests - 1, tokens - past.tokens
            if self._fits(first, requests, tokens):
                return past.admitted_at + WINDOW_S
        raise AssertionError("an empty window fits every call")

    def release(self, ticket: Ticket, *, tokens: int, price_usd: float, outcome: str, detail: str = "") -> None:
        """End a call with what it really took; `outcome` as `QuotaClient.release` says."""
        if ticket.state != "admitted":
            return
        if self._window and ticket.admitted_at >= self._window[0].admitted_at:
            self._window_tokens += tokens - ticket.tokens
            ticket.tokens = tokens
        self.spent_usd += price_usd
        self._count(outcome, detail)
        self._end(ticket)

    def take_back(self, ticket: Ticket) -> None:
        """End a ticket whose caller gave up before it called."""
        if ticket.state == "admitted":
            self.release(ticket, tokens=0, price_usd=0.0, outcome="unused")
        else:
            self._end(ticket)

    def drop(self, owner: object) -> None:
        """End everything of a worker that is gone. What it was calling may have been paid."""
        for ticket in [*self._flying, *self._queue]:
            if ticket.owner is owner:
                self.lost_usd += ticket.price_usd if ticket.state == "admitted" else 0.0
                self._end(ticket)

    def stop(self, code: str, message: str, hint: str) -> None:
        """Refuse everyone who waits or comes, for this reason; the first reason stays."""
        if self.stopped is not None:
            return
        self.stopped = ModelStoppedError(message, code=code, hint=hint)
        for ticket in self._queue:
            if ticket.state == "waiting":
                self._decide(ticket, "refused")
        self._queue.clear()

    def _fits_cost(self, ticket: Ticket) -> bool:
        """Whether the ticket can be paid now; stops the run when it never can, whatever those in flight turn out to cost."""
        most = self.limits.max_cost_usd
        if most is None:
            return True
        gone = self.spent_usd + self.lost_usd
        if gone + ticket.price_usd > most:
            self.stop(
                "model_cost",
                f"max-cost={most:g} USD: {gone:.4f} is spent, and the next call may cost {ticket.price_usd:.4f}",
                "raise --max-cost and run it again: what was paid for is in the cache",
            )
            return False
        return gone + self._reserved_usd + ticket.price_usd <= most

    def _fits_window(self, ticket: Ticket) -> bool:
        return self._fits(ticket, len(self._window), self._window_tokens)

    def _fits(self, ticket: Ticket, requests: int, tokens: int) -> bool:
        """Whether a window that holds so much takes the ticket too."""
        limits = self.limits
        if limits.requests_per_minute is not None and requests >= limits.requests_per_minute:
            return False
        return limits.tokens_per_minute is None or not requests or tokens + ticket.tokens <= limits.tokens_per_minute

    def _admit(self, ticket: Ticket) -> None:
        ticket.admitted_at = self.clock()
        self._window.append(ticket)
        self._window_tokens += ticket.tokens
        self._flying.add(ticket)
        self._reserved_usd += ticket.price_usd
        self.calls += 1
        self.most_in_flight = max(self.most_in_flight, len(self._flying))
        self._decide(ticket, "admitted")

    def _forget(self) -> None:
        """Let go of calls that were admitted a window ago."""
        now = self.clock()
        while self._window and self._window[0].admitted_at + WINDOW_S <= now:
            self._window_tokens -= self._window.popleft().tokens

    def _end(self, ticket: Ticket) -> None:
        """Take a ticket out, in whatever state it is."""
        if ticket.state == "admitted":
            self._flying.discard(ticket)
            # Sums of parts drift; of none there is nothing.
            self._reserved_usd = self._reserved_usd - ticket.price_usd if self._flying else 0.0
        ticket.state = "ended"

    def _decide(self, ticket: Ticket, state: State) -> None:
        ticket.state = state
        self._decided.append(ticket)

    def _count(self, outcome: str, detail: str) -> None:
        if outcome == "transient":
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= self.limits.in_a_row:
                self.stop(
                    "model_unreachable",
                    f"{self._failed_in_a_row} calls in a row failed after all their attempts, the last with: {detail}",
                    "see that the model's server is up (--base-url, OPENAI_BASE_URL) and run it again",
                )
        elif outcome not in ("retry", "fatal", "unused"):
            self._failed_in_a_row = 0
            self.answered += 1
