"""What a run would ask and pay, before it does."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from memlake.transforms.llm.protocol.model import Request
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.records.prices import Price, price_of
from memlake.transforms.text.token_counts import TokenCounter

# What wraps a message, and a reply's beginning, in the formats of chat models.
_TOKENS_A_MESSAGE = 4
_TOKENS_A_REQUEST = 3
_LEAST_SHARE_OF_ROOM = 0.1
RANGE = (
    "tokens in: of the first requests alone; ranges: from replies that fill a tenth of their room to replies that fill "
    "it. A second pass, splits of what was cut, repairs and attempts that failed come on top; --max-cost bounds them all."
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens and US dollars of requests that are known before any reply; every value can stand in JSON.

    Attributes:
        calls: requests that would be sent; equal ones are one.
        cached: those that the cache answers, which cost nothing.
        price_low, price_high: null when the price of a model is not known; `unpriced` names those models.
        tokeniser: what counted the tokens; the provider's own may differ by some percent.
        note: what the range means.
    """

    calls: int
    cached: int
    tokens_in: int
    tokens_out_low: int
    tokens_out_high: int
    price_low: float | None
    price_high: float | None
    tokeniser: str
    unpriced: tuple[str, ...] = ()
    note: str = RANGE

    @classmethod
    def nothing(cls, tokeniser: str) -> "Estimate":
        """The estimate of no request at all, to add others to."""
        return cls(0, 0, 0, 0, 0, 0.0, 0.0, tokeniser)

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.calls + other.calls,
            self.cached + other.cached,
            self.tokens_in + other.tokens_in,
            self.tokens_out_low + other.tokens_out_low,
            self.tokens_out_high + other.tokens_out_high,
            _sum(self.price_low, other.price_low),
            _sum(self.price_high, other.price_high),
            self.tokeniser,
            tuple(sorted({*self.unpriced, *other.unpriced})),
        )

    def document(self) -> dict[str, object]:
        """As it stands in a command's JSON, dollars to the ten-thousandth of a cent."""
        rounded = {name: round(value, 6) for name, value in asdict(self).items() if isinstance(value, float)}
        return {**asdict(self), **rounded, "unpriced": list(self.unpriced)}


def estimate(
    requests: Sequence[Request], counter: TokenCounter, prices: Sequence[Price], cache: ReplyCache, *, provider: str
) -> Estimate:
    """Price requests that nobody has paid for yet.

    Args:
        provider: as the run would name it; it is part of what the cache goes by.
    """
    distinct = {request.hash(provider): request for request in requests}
    asked = [request for name, request in distinct.items() if cache.get(name) is None]
    texts = {text for request in asked for text in _texts(request)}
    tokens = dict(zip(texts, counter.count(list(texts)).tolist(), strict=True))
    total = replace(Estimate.nothing(counter.name), cached=len(distinct) - len(asked))
    for request in asked:
        sent = sum(tokens[text] for text in _texts(request))
        sent += _TOKENS_A_MESSAGE * len(request.messages) + _TOKENS_A_REQUEST
        least, most = round(request.max_tokens * _LEAST_SHARE_OF_ROOM), request.max_tokens
        low, high = (price_of(prices, request.model, sent, out) for out in (least, most))
        unpriced = (request.model,) if low is None else ()
        total += Estimate(1, 0, sent, least, most, low, high, counter.name, unpriced)
    return total


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def _texts(request: Request) -> Iterable[str]:
    """What is counted of a request; a schema is sent, and billed, with it."""
    yield from (message.content for message in request.messages)
    if request.schema:
        yield request.schema
