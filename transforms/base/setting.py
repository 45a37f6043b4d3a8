"""A setting is one field of a dataclass: its option, its variable, its line in a file and in a form are read off it.

    workers: Annotated[int, Field(ge=1), Setting("Processes of a pipeline.")] = 1

A field without one of these marks is set by code alone.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler
from pydantic_core import CoreSchema


@dataclass(frozen=True)
class Option:
    """Marks a field that a command takes as an option.

    Attributes:
        help: what it is, as help, `memlake doctor` and a deployment's form show it.
        name: where it is not the field's own.
        flag: as it is typed; '' for --NAME, None for a setting that no command takes.
        typed: the type of what is typed, where that is not the field's own.
        default: what a command means that leaves it out; ... for the field's own default.
    """

    help: str
    name: str = ""
    flag: str | None = ""
    typed: Any = None
    default: Any = ...

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The field's schema with its help, for the form of a deployment."""
        return handler(schema) | {"description": self.help}


class Argument(Option):
    """Marks a field that a command takes by its place."""


class Setting(Option):
    """Marks an option that the environment, as MEMLAKE_NAME, and memlake.toml may set too."""


class Group:
    """Marks a field that is a dataclass of such fields, all of which a command takes."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A marked field of a dataclass or of its groups.

    Attributes:
        path: attributes that lead to it.
        hint: its type with the checks on its value.
        typed: the type of what a command takes.
        default: what a command means that leaves it out; MISSING where it has to be given.
    """

    name: str
    path: tuple[str, ...]
    mark: Option
    hint: Any
    typed: Any
    default: Any


def declared(kind: type) -> tuple[Declared, ...]:
    """The marked fields of a dataclass: those that have to be given first, its own before those of its bases."""
    hints, plain = get_type_hints(kind, include_extras=True), get_type_hints(kind)
    defaults = {field.name: field.default for field in fields(kind)}
    names = dict.fromkeys(name for base in kind.__mro__ for name in vars(base).get("__annotations__", ()))
    found: list[Declared] = []
    for name in names:
        for mark in getattr(hints[name], "__metadata__", ()):
            if isinstance(mark, Group):
                found += [replace(part, path=(name, *part.path)) for part in declared(plain[name])]
            elif isinstance(mark, Option):
                default = defaults[name] if mark.default is ... else mark.default
                typed = mark.typed or plain[name]
                found.append(Declared(mark.name or name, (name,), mark, hints[name], typed, default))
    return tuple(sorted(found, key=lambda part: part.default is not MISSING))


def nested(kind: type, values: Mapping[str, object]) -> dict[str, Any]:
    """Values by the names of marked fields, as the fields of a dataclass and of its groups."""
    made: dict[str, Any] = {}
    for part in declared(kind):
        value = values.get(part.name, part.default)
        if value is not MISSING:
            place = made
            for name in part.path[:-1]:
                place = place.setdefault(name, {})
            place[part.path[-1]] = value
    return made


def split_names(text: str) -> tuple[str, ...]:
    """'a,b' as ('a', 'b'), since an environment variable is one text."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def split_specs(text: str) -> tuple[str, ...]:
    """'a:x=1,y=2,b' as ('a:x=1,y=2', 'b'): a comma inside a representation's settings does not end its name."""
    parts: list[str] = []
    for part in split_names(text):
        if parts and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return tuple(parts)


def _each(split: Callable[[str], tuple[str, ...]]) -> BeforeValidator:
    """Split a text, or each text of a repeated option."""

    def parts(value: Any) -> Any:
        texts = (value,) if isinstance(value, str) else value
        return (
            tuple(part for text in texts for part in split(text)) if all(isinstance(t, str) for t in texts) else value
        )

    return BeforeValidator(parts)


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty")
    return value


def _one_line(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("it has spaces around it, or signs that do not print")
    return value


Text = Annotated[str, AfterValidator(_not_empty)]
# Unset when it is empty.
Label = Annotated[str, AfterValidator(_one_line)]
PathText = Annotated[str, BeforeValidator(os.fspath)]
# An option of a runner may hold commas, so only the one text of a variable is split.
Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: split_names(value) if isinstance(value, str) else value)
]
Specs = Annotated[tuple[str, ...], _each(split_specs)]
