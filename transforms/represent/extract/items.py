"""Items of a model's reply, each held to the schema on its own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from memlake.schemas.table import settings_json


@dataclass(frozen=True, slots=True)
class Items:
    """What a reply holds.

    Attributes:
        items: those that keep to the schema, in order.
        dropped: how many do not.
        problem: what is wrong with the first of these.
    """

    items: tuple[Mapping[str, Any], ...]
    dropped: int = 0
    problem: str = ""


def checked_items(
    value: object,
    schema: Mapping[str, Any],
    key: str,
    *,
    is_valid: bool = False,
    refused: Callable[[Mapping[str, Any]], str] | None = None,
) -> Items | None:
    """The items of a parsed reply, those that break the schema left out; None when the reply has no list of items.

    What an item says beyond the schema is left out, and what it leaves out is null where that is allowed.

    Args:
        value: the reply, of which nothing is known yet.
        schema: of the whole reply.
        key: of the list in it; '' when the reply as a whole is the item.
        is_valid: whether the whole reply is known to keep to the schema.
        refused: what is wrong with an item that keeps to the schema; '' when nothing is.
    """
    of_item = schema["properties"][key]["items"] if key else schema
    if key:
        # Some models answer with the list alone, without the object around it.
        value = value.get(key) if isinstance(value, dict) else value
        if not isinstance(value, list):
            return None
    kept: list[Mapping[str, Any]] = []
    problem = ""
    raw = value if key and isinstance(value, list) else [value]
    for place, item in enumerate(raw):
        fitted = item if is_valid else _fitted(item, of_item)
        wrong = "" if is_valid else _problem(fitted, of_item)
        wrong = wrong or (refused(fitted) if refused else "")
        if wrong:
            problem = problem or f"item {place}: {wrong}"
        else:
            kept.append(fitted)
    return Items(tuple(kept), len(raw) - len(kept), problem)


def _fitted(item: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(item, dict):
        return item
    return {
        name: item.get(name)
        for name, field in schema["properties"].items()
        if name in item or "null" in field.get("type", ())
    }


def _problem(item: object, schema: Mapping[str, Any]) -> str:
    """What is wrong with an item, in one line; '' when nothing is."""
    error = next(iter(_validator(settings_json(schema)).iter_errors(item)), None)
    if error is None:
        return ""
    where = ".".join(map(str, error.absolute_path))
    return f"{where}: {error.message[:200]}" if where else str(error.message[:200])


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
