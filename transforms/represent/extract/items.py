"""Items of a model's reply, each held to the schema on its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memlake.schemas.table import settings_json
from memlake.transforms.llm.structured.reply import problem_of


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
    schema_text = "" if is_valid else settings_json(of_item)
    for place, item in enumerate(raw):
        fitted = item if is_valid else _fitted(item, of_item)
        wrong = "" if is_valid else problem_of(fitted, schema_text).removeprefix("$: ").removeprefix("$.")
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
