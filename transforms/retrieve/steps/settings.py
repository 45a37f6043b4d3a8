"""A step's settings as data: its fields are their names, what they may be is in the fields' types and metadata.

Metadata: `allowed` lists the texts that a setting may be; `least` is the least whole number, else 1; `optional` leaves the
setting out of the plan's table while it has its default, so that plans of before it came stay as they were.
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from types import UnionType
from typing import Any, get_args, get_origin

from memlake.transforms.base.errors import UsageError

_MOST = 2**31


def checked_settings(where: str, kind: type[Any], given: Mapping[str, Any], hint: str) -> dict[str, Any]:
    """The settings of a step from its table, each in its type.

    Raises:
        UsageError: a setting is unknown, or its value not allowed.
    """
    settings = {field.name: field for field in fields(kind)}
    if unknown := sorted(given.keys() - settings.keys()):
        allowed = ", ".join(sorted(settings)) or "none"
        raise UsageError(f"{where}: setting={unknown[0]!r} is unknown: allowed are {allowed}", hint=hint)
    return {key: _checked(where, settings[key], value, hint) for key, value in given.items()}


def settings_of(step: Any) -> dict[str, Any]:
    """A step's settings, lists as lists; those that are optional and have their default are none of them."""
    told = {}
    for setting in fields(step):
        value = getattr(step, setting.name)
        if not (setting.metadata.get("optional") and value == setting.default):
            told[setting.name] = list(value) if isinstance(value, tuple) else value
    return told


def _checked(where: str, setting: Field[Any], value: Any, hint: str) -> Any:
    """A setting's value in its type: one of some texts, any text, texts, a whole number, yes or no, or a number."""
    kind = _without_none(setting.type)
    options = setting.metadata.get("allowed")
    if options:
        fits, allowed = value in options, f"allowed are {', '.join(options)}"
    elif kind is str:
        fits, allowed = _is_text(value), "a text is allowed"
    elif kind is bool:
        fits, allowed = isinstance(value, bool), "true or false is allowed"
    elif get_origin(kind) is tuple:
        fits = isinstance(value, list | tuple) and all(map(_is_text, value)) and len(set(value)) == len(value)
        allowed = "a list of texts, each once, is allowed"
        value = tuple(value) if fits else value
    elif kind is int:
        least = setting.metadata.get("least", 1)
        whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
        fits, allowed = whole and least <= value < _MOST, f"a whole number, {least} or more, is allowed"
        value = int(value) if fits else value
    else:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits, allowed = number and 0 <= value < float("inf"), "a number, 0 or more, is allowed"
        value = float(value) if fits else value
    if not fits:
        raise UsageError(f"{where}: {setting.name}={value!r}: {allowed}", hint=hint)
    return value


def _without_none(kind: Any) -> Any:
    """The type of a setting that may be missing."""
    if isinstance(kind, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    return kind


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
