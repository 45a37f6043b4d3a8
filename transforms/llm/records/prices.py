"""What tokens cost: dated list prices as data, which a user's own file adds to and overrides."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from memlake.transforms.base.errors import UsageError

_OURS = Path(__file__).with_name("prices.toml")
_PER = 1_000_000
# What a provider appends to the name of a model when it names one state of it.
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4}|\d{6}|\d{8}|latest)")
Name = Annotated[str, Field(min_length=1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class Price:
    """US dollars for 1,000,000 tokens of one model.

    Attributes:
        provider: whose list it is; a model is found by its name alone.
        cached_input: tokens of the request that the provider had cached; as `input` where the list says nothing.
        output: 0 for embeddings.
        as_of: the day on which the list said so.
    """

    model: Name
    provider: Name
    input: Amount
    cached_input: Amount
    output: Amount
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
    values: dict[str, Any] = {"output": 0.0, **entry} if isinstance(entry, dict) else {}
    values.setdefault("cached_input", values.get("input"))
    try:
        return Price(**values)
    except ValidationError as error:
        wrong, known = str(error.errors()[0]["loc"][0]), [field.name for field in fields(Price)]
        problem = (
            f"({values.get('model', '?')}) has {wrong}={values.get(wrong)!r}"
            if wrong in known
            else f"has {sorted(values.keys() - set(known))}: {', '.join(known)}"
        )
        raise UsageError(f"prices={str(path)!r}: entry {number} {problem}", hint=f"compare {_OURS}") from error
