"""What a test server counts."""

import hashlib
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from openai_answers import Answer

KEPT = 20_000


@dataclass(slots=True)
class Seen:
    """One request: what came, and what came of it."""

    path: str
    body: bytes
    body_hash: str
    came: int
    at: float
    fault: str = ""
    status: int | None = None


@dataclass(slots=True)
class ServerRecord:
    """Counts of requests; the control endpoints are not among them.

    Attributes:
        abandoned: requests whose client had gone before the answer.
        script_errors: what went wrong in the script itself; a test with any of these proves nothing.
    """

    calls: int = 0
    answered: int = 0
    abandoned: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    connections: int = 0
    first_at: float | None = None
    last_at: float | None = None
    paths: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    bodies: Counter[str] = field(default_factory=Counter)
    arrivals: list[float] = field(default_factory=list)
    script_errors: list[str] = field(default_factory=list)
    requests: deque[Seen] = field(default_factory=lambda: deque(maxlen=KEPT))

    def count_request(self, path: str, body: bytes) -> Seen:
        """Count a request that has come whole."""
        now = time.monotonic()
        key = hashlib.blake2b(path.encode() + b"\0" + body, digest_size=16).hexdigest()
        seen = Seen(path, body, key, self.bodies[key], now)
        self.calls += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.first_at = self.first_at if self.first_at is not None else now
        self.paths[path] += 1
        self.bodies[key] += 1
        self.arrivals.append(now)
        self.requests.append(seen)
        return seen

    def count_answer(self, answer: Answer | None) -> None:
        """Count an answer, or a client that went without one."""
        self.in_flight -= 1
        self.last_at = time.monotonic()
        if answer is None:
            self.abandoned += 1
            return
        self.answered += 1
        self.statuses[str(answer.status)] += 1
        self.tokens_in += answer.tokens_in
        self.tokens_out += answer.tokens_out

    def document(self) -> dict[str, Any]:
        """The counts as JSON, without the requests."""
        counters = {name: dict(getattr(self, name)) for name in ("paths", "faults", "statuses", "bodies")}
        plain = ("calls", "answered", "abandoned", "in_flight", "most_in_flight", "tokens_in", "tokens_out")
        others = ("connections", "first_at", "last_at", "arrivals", "script_errors")
        return counters | {name: getattr(self, name) for name in (*plain, *others)}
