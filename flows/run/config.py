"""Settings in layers: defaults < memlake.toml < MEMLAKE_* environment < flags, each value with where it came from."""

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from memlake.flows.run.settings import KINDS
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.setting import Declared, Setting, declared, nested

S = TypeVar("S")
FILE = "memlake.toml"
PREFIX = "MEMLAKE_"
# Variables that steer something else than a setting: the traceback of a fault, the data of tests, a binary.
OTHER_VARIABLES = frozenset({"MEMLAKE_TRACEBACK", "MEMLAKE_SHARED_DATA", "MEMLAKE_PRISM"})
# Every value that a file, the environment or a flag may set, by name.
SETTINGS: Mapping[str, Declared] = {
    part.name: part for kind in KINDS for part in declared(kind) if isinstance(part.mark, Setting)
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective settings; `origins` maps each name to 'flag', 'MEMLAKE_NAME', 'memlake.toml' or 'default'."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]

    def make(self, kind: type[S], options: Mapping[str, object] = MappingProxyType({})) -> S:
        """What a flow or a command is given: of all settings and of these options those that it declares.

        Raises:
            UsageError: an option that cannot be.
        """
        declares = {part.name: self.values[part.name] for part in declared(kind) if isinstance(part.mark, Setting)}
        try:
            return TypeAdapter(kind).validate_python(nested(kind, {**options, **declares}))
        except ValidationError as error:
            raise _refused(error, dict.fromkeys(options, "flag")) from error

    def chunk_fault(self) -> UsageError | None:
        """What is wrong with the settings of chunks taken together, and where each comes from; None for nothing."""
        size, overlap = self.values["chunk_size"], self.values["overlap"]
        if overlap < size:
            return None
        defaults = ", ".join(f"{name}={SETTINGS[name].default}" for name in ("chunk_size", "overlap"))
        return UsageError(
            f"overlap={overlap} (from {self.origins['overlap']}) is not allowed: it must be smaller than "
            f"chunk_size={size} (from {self.origins['chunk_size']})",
            hint=f"the defaults are {defaults}",
        )

    def rows(self) -> list[dict[str, object]]:
        """Each setting with its value, its origin and what it is, for `memlake doctor`."""
        return [
            {"setting": name, "value": self.values[name], "from": self.origins[name], "is": setting.mark.help}
            for name, setting in SETTINGS.items()
        ]


def load(**flags: object) -> Configuration:
    """Read every layer; a flag that is None was not given.

    Raises:
        UsageError: memlake.toml is no TOML or has an unknown key, or a layer holds a value that is not allowed.
    """
    in_file = _read_file()
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for name in SETTINGS:
        variable = PREFIX + name.upper()
        layers = (("flag", flags.get(name)), (variable, os.environ.get(variable) or None), (FILE, in_file.get(name)))
        origins[name], value = next((layer for layer in layers if layer[1] is not None), ("default", None))
        if value is not None:
            values[name] = value
    try:
        return Configuration(vars(_model()(**values)), origins)
    except ValidationError as error:
        raise _refused(error, origins) from error


def lake_flag(lake: str) -> str:
    """' --lake X' to end a command that is printed to be copied; '' where the command finds that lake without it."""
    try:
        found = load().values["lake"]
    except UsageError:
        found = ""
    return "" if found and lake_folder(found) == lake_folder(lake) else f" --lake {shlex.quote(lake)}"


def lake_folder(lake: str) -> Path:
    """The folder that a lake's name or file:// URI means."""
    return Path(lake.removeprefix("file://")).expanduser().absolute()


def unknown_variables() -> list[str]:
    """Environment variables that look like settings of ours and are none: most often a misspelling."""
    known = {PREFIX + name.upper() for name in SETTINGS} | OTHER_VARIABLES
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


@cache
def _model() -> type[BaseModel]:
    """What checks the layered values of all settings, whichever the command needs."""
    fields: dict[str, Any] = {name: (setting.hint, setting.default) for name, setting in SETTINGS.items()}
    return create_model("Settings", **fields)


def _refused(error: ValidationError, origins: Mapping[str, str]) -> UsageError:
    """The first fault of some values, with its setting, where it comes from and what is allowed."""
    fault = error.errors()[0]
    name = next((str(part) for part in fault["loc"] if part in origins), "settings")
    reason = fault["msg"].removeprefix("Value error, ")
    return UsageError(
        f"{name}={fault['input']!r} (from {origins.get(name, 'default')}) is not allowed: {reason}",
        hint=f"{name}: {SETTINGS[name].mark.help}" if name in SETTINGS else "",
    )


def _read_file() -> dict[str, object]:
    path = Path(FILE)
    if not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} is not TOML: {error}", hint=f"mend or remove {path.absolute()}") from error
    for key in values:
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"mend {path.absolute()}"
            raise UsageError(f"{FILE}: key={key!r} is unknown; allowed: {', '.join(SETTINGS)}", hint=hint)
    return values
