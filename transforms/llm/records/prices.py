"""What tokens cost: dated list prices as data, which a user's own file adds to and overrides."""

import math
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from memlake.transforms.base.errors import UsageError

_OURS = Path(__file__).with_name("prices.toml")
_PER = 1_000_000
# What a provider appends to the name of a model when it names one state of it.
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4}|\d{6}|\d{8}|latest)")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for 1,000,000 tokens of one model.

    Attributes:
        provider: whose list it is; a model is found by its name alone.
        cached_input: tokens of the request that the provider had cached; as `input` where the list says nothing.
        output: 0 for embeddings.
        as_of: the day on which the list said so.
    """

    model: str
    provider: str
    input: float
    cached_input: float
    output: float
    as_of: date
    source: str = ""


def load_prices(path: Path | None = None) -> tuple[Price, ...]:
    """The price table; entries of a user's TOML file take the place of ours of the same model.

    Raises:
        UsageError: the file is not there, is no TOML, or an entry is not one.
    """
    ours = {price.model: price for price in _read(_OURS)}
    theirs = {price.model: price for price in _read(path)} if path is not None else {}
    return tuple((ours | theirs).values())


def find_price(prices: Sequence[Price], model: str) -> Price | None:
    """The entry of a model, or of the model that it is a dated state of; None when neither has one."""
    known = {price.model: price for price in prices}
    if model in known:
        return known[model]
    families = [model[: end.start()] for end in re.finditer("-", model) if _DATED.fullmatch(model, end.start())]
    return next((known[family] for family in reversed(families) if family in known), None)


def price_of(
    prices: Sequence[Price], model: str, tokens_in: int, tokens_out: int = 0, tokens_cached: int = 0
) -> float | None:
    """US dollars of one call; None when the model's price is not known.

    Args:
        tokens_in: all of the request, those that the provider had cached among them.
    """
    price = find_price(prices, model)
    if price is None:
        return None
    cached = min(tokens_cached, tokens_in)
    sum_usd = (tokens_in - cached) * price.input + cached * price.cached_input + tokens_out * price.output
    return sum_usd / _PER


def check_priced(prices: Sequence[Price], model: str) -> None:
    """Refuse a limit on cost for a model of which nobody knows the cost.

    Raises:
        UsageError: says how to add its price.
    """
    if find_price(prices, model) is None:
        raise UsageError(
            f"max-cost: the price of model={model!r} is not known, only those of "
            + ", ".join(sorted(price.model for price in prices)),
            hint="write [[price]] model, provider, input, output (USD for 1,000,000 tokens) and as_of into a file: "
            "--prices FILE",
        )


def _read(path: Path) -> list[Price]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"prices={str(path)!r} cannot be read: {error.strerror}", hint="--prices FILE") from error
    except ValueError as error:
        raise UsageError(f"prices={str(path)!r} is no TOML: {error}", hint=f"compare {_OURS}") from error
    entries = document.get("price", [])
    if not isinstance(entries, list) or document.keys() - {"price"}:
        raise UsageError(f"prices={str(path)!r} holds more than [[price]] entries", hint=f"compare {_OURS}")
    return [_entry(path, number, entry) for number, entry in enumerate(entries)]


def _entry(path: Path, number: int, entry: Any) -> Price:
    fields: dict[str, Any] = {"source": "", "output": 0.0, **entry} if isinstance(entry, dict) else {}
    fields.setdefault("cached_input", fields.get("input"))
    for name, is_right in _FIELDS.items():
        if not is_right(fields.get(name)):
            raise UsageError(
                f"prices={str(path)!r}: entry {number} ({fields.get('model', '?')}) has {name}={fields.get(name)!r}",
                hint=f"compare {_OURS}",
            )
    if fields.keys() - _FIELDS.keys():
        raise UsageError(
            f"prices={str(path)!r}: entry {number} has {sorted(fields.keys() - _FIELDS.keys())}: {', '.join(_FIELDS)}",
            hint=f"compare {_OURS}",
        )
    numbers = {name: float(fields[name]) for name in ("input", "cached_input", "output")}
    return Price(fields["model"], fields["provider"], **numbers, as_of=fields["as_of"], source=fields["source"])


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


_FIELDS: dict[str, Callable[[object], bool]] = {
    "model": _is_name,
    "provider": _is_name,
    "input": _is_amount,
    "cached_input": _is_amount,
    "output": _is_amount,
    "as_of": lambda value: type(value) is date,
    "source": lambda value: isinstance(value, str),
}
