"""What a test server does wrong: kinds of fault, drawn by seed, request and how often it came."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

# May pass: the same request, asked again, may be answered.
TRANSIENT = ("rate_limit", "rate_limit_after", "server_error", "slow", "dropped", "hang_up", "not_json")
# Answered, and the answer is no good.
CONTENT = (
    "invalid_json",
    "prose",
    "empty",
    "cut",
    "wrong_schema",
    "refusal",
    "content_filter",
    "duplicates",
    "other_language",
    "injected",
)
# The request itself is refused, each server in its own words.
TOO_LONG = ("too_long", "too_long_plain", "too_long_llamacpp", "too_long_vllm")
REJECTED = ("rejected", "unprocessable")
# Nothing will be answered before somebody mends the settings.
FATAL = ("bad_key", "forbidden", "no_model", "no_route", "no_quota")
# Of embeddings.
VECTORS = ("short_list", "wrong_dimension", "not_finite")
KINDS = (*TRANSIENT, *CONTENT, *TOO_LONG, *REJECTED, *FATAL, *VECTORS)


@dataclass(frozen=True, slots=True)
class Faults:
    """How often which fault happens.

    Attributes:
        rate: share of requests with a fault, 0 to 1.
        marked: (text, kind): every request in which the text occurs has that fault, each time it comes the very same.
    """

    rate: float = 0.0
    kinds: tuple[str, ...] = (*TRANSIENT, *CONTENT, "too_long")
    seed: int = 0
    marked: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        unknown = {*self.kinds, *(kind for _, kind in self.marked)} - set(KINDS)
        if unknown or not 0 <= self.rate <= 1 or (self.rate and not self.kinds):
            raise ValueError(f"faults: rate={self.rate}, unknown kinds {sorted(unknown)}; there are {KINDS}")


@dataclass(frozen=True, slots=True)
class Drawn:
    """The fault of one request; `variant` is a number by which its form varies."""

    kind: str = ""
    variant: int = 0


def draw(faults: Faults, body: bytes, texts: Sequence[str], came: int) -> Drawn:
    """The fault of a request that came `came` times before: equal for equal arguments, on every machine."""
    for marker, kind in faults.marked:
        if any(marker in text for text in texts):
            return Drawn(kind, int.from_bytes(_rolled(faults.seed, body, 0)[12:], "big"))
    rolled = _rolled(faults.seed, body, came)
    if int.from_bytes(rolled[:6], "big") < faults.rate * 2**48:
        kind = faults.kinds[int.from_bytes(rolled[6:12], "big") % len(faults.kinds)]
        return Drawn(kind, int.from_bytes(rolled[12:], "big"))
    return Drawn()


def _rolled(seed: int, body: bytes, came: int) -> bytes:
    return hashlib.blake2b(b"%d:%d:" % (seed, came) + body, digest_size=16).digest()
