"""Settings in layers: defaults < memlake.toml < MEMLAKE_* environment < flags, each value with where it came from."""

import os
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memlake.transforms.base.errors import UsageError

FILE = "memlake.toml"
PREFIX = "MEMLAKE_"
# Variables that steer something else than a setting: the traceback of a fault, the data of tests, a binary.
OTHER_VARIABLES = frozenset({"MEMLAKE_TRACEBACK", "MEMLAKE_SHARED_DATA", "MEMLAKE_PRISM"})


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


def _when_text(split: Callable[[str], tuple[str, ...]]) -> BeforeValidator:
    return BeforeValidator(lambda value: split(value) if isinstance(value, str) else value)


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
Names = Annotated[tuple[str, ...], NoDecode, _when_text(split_names)]
Specs = Annotated[tuple[str, ...], NoDecode, _when_text(split_specs)]
Share = Annotated[float, Field(ge=0, le=1)]


class Settings(BaseSettings):
    """Every value that a file, the environment or a flag may set."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    lake: Text = Field("./lake", description="the lake: a folder or file:// URI")
    embedder: Text = Field("static", description="the embedder of units and questions")
    representations: Specs = Field(("chunks",), description="what ingest makes of the turns")
    workers: int = Field(1, ge=1, description="processes of a pipeline")
    runner: Text = Field("fnapi", description="the Beam runner")
    runner_options: Names = Field((), description="options handed to the runner")
    chunk_size: int = Field(512, ge=1, description="characters of a chunk")
    overlap: int = Field(100, ge=0, description="characters that neighbouring chunks share")
    allow_dead: Share = Field(0.0, description="share of files that may die before exit code 3")
    allow_dead_records: Share = Field(0.01, description="share of records that may die before exit code 3")
    lock_timeout: float = Field(60.0, ge=0, description="seconds to wait for another writer")
    prefect: bool | None = Field(None, description="run as a Prefect flow; unset: when a Prefect API is configured")
    model: Label = Field("", description="the model that representations are made with; there is no default")
    base_url: Label = Field("", description="its OpenAI-compatible server; unset: OPENAI_BASE_URL, else OpenAI's own")
    provider: Label = Field("", description="what its server is called on record; unset: the server's host name")
    max_in_flight: int = Field(16, ge=1, description="calls to models at a time, of a whole job")
    requests_per_minute: int | None = Field(None, ge=1, description="calls to models a minute; unset: no limit")
    tokens_per_minute: int | None = Field(None, ge=1, description="tokens of calls a minute; unset: no limit")
    max_cost: float | None = Field(None, ge=0, description="US dollars after which a run stops; unset: no limit")
    offline: bool = Field(False, description="call no model: replay what the lake's cache holds")
    prices: Text | None = Field(None, description="a TOML file of prices that override the built-in ones")
    threads: int | None = Field(None, ge=1, description="DuckDB's threads; unset: as many as there are cores")
    memory_limit: Text | None = Field(None, description="DuckDB's memory before it spills; unset: 4GB")
    temp_directory: Text | None = Field(
        None, description="where DuckDB spills; unset: below the system's temporary folder"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is the library's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags before the environment before the file of the working folder; no .env file, no secrets folder."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=Path(FILE))


CHUNK_HINT = (
    f"the defaults are {', '.join(f'{n}={Settings.model_fields[n].default}' for n in ('chunk_size', 'overlap'))}"
)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective settings; `origins` maps each name to 'flag', 'MEMLAKE_NAME', 'memlake.toml' or 'default'."""

    settings: Settings
    origins: Mapping[str, str]

    def chunk_fault(self) -> str | None:
        """What is wrong with the settings of chunks taken together, and where each comes from; None for nothing."""
        size, overlap = self.settings.chunk_size, self.settings.overlap
        if overlap < size:
            return None
        return (
            f"overlap={overlap} (from {self.origins['overlap']}) is not allowed: it must be smaller than "
            f"chunk_size={size} (from {self.origins['chunk_size']})"
        )

    def rows(self) -> list[dict[str, object]]:
        """Each setting with its value, its origin and what it is, for `memlake doctor`."""
        return [
            {"setting": name, "value": getattr(self.settings, name), "from": origin, "is": field.description}
            for (name, field), origin in zip(Settings.model_fields.items(), self.origins.values(), strict=True)
        ]


def load(**flags: object) -> Configuration:
    """Read every layer; a flag that is None was not given.

    Raises:
        UsageError: memlake.toml is no TOML or has an unknown key, or a layer holds a value that is not allowed.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    in_file = _read_file()
    origins = {name: _origin(name, given, in_file) for name in Settings.model_fields}
    try:
        return Configuration(Settings(**given), origins)  # type: ignore[arg-type]
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0]) if fault["loc"] else "settings"
        reason = fault["msg"].removeprefix("Value error, ")
        origin = origins.get(name, "default")
        raise UsageError(
            f"{name}={fault['input']!r} (from {origin}) is not allowed: {reason}",
            hint=f"{name}: {Settings.model_fields[name].description}" if name in Settings.model_fields else "",
        ) from error


def lake_flag(lake: str) -> str:
    """' --lake X' to end a command that is printed to be copied; '' where the command finds that lake without it."""
    try:
        found = load().settings.lake
    except UsageError:
        found = ""
    return "" if found and lake_folder(found) == lake_folder(lake) else f" --lake {shlex.quote(lake)}"


def lake_folder(lake: str) -> Path:
    """The folder that a lake's name or file:// URI means."""
    return Path(lake.removeprefix("file://")).expanduser().absolute()


def unknown_variables() -> list[str]:
    """Environment variables that look like settings of ours and are none: most often a misspelling."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | OTHER_VARIABLES
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _read_file() -> dict[str, object]:
    path = Path(FILE)
    if not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} is not TOML: {error}", hint=f"mend or remove {path.absolute()}") from error
    for key in values:
        if key not in Settings.model_fields:
            near = get_close_matches(key, Settings.model_fields, n=1)
            hint = f"did you mean {near[0]}?" if near else f"mend {path.absolute()}"
            raise UsageError(f"{FILE}: key={key!r} is unknown; allowed: {', '.join(Settings.model_fields)}", hint=hint)
    return values


def _origin(name: str, given: Mapping[str, object], in_file: Mapping[str, object]) -> str:
    if name in given:
        return "flag"
    if os.environ.get(PREFIX + name.upper()):
        return PREFIX + name.upper()
    return FILE if name in in_file else "default"
