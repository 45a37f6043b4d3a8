"""What every representation is: a pure function from turns to units, provenance and links."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

Settings = Mapping[str, int | float | str | bool]


@dataclass(frozen=True, slots=True)
class Units:
    """Rows of the three tables that a representation is made of, in the schemas of the same names."""

    units: pa.Table
    provenance: pa.Table
    links: pa.Table


@dataclass(frozen=True, slots=True)
class Representation:
    """A named way to make units.

    Attributes:
        build: turns of whole conversations, sorted by (conversation_id, ordinal), to units.
        defaults: every setting with its default; another name is another setting (`chunks-o0`).
        revision: raised only when the output changes for the same settings.
        check: raises UsageError for settings that make no sense, before any work.
    """

    kind: str
    build: Callable[["Making", pa.Table], Units]
    defaults: Settings
    revision: int = 1
    check: Callable[[Settings], None] | None = None


@dataclass(frozen=True, slots=True)
class Making:
    """One representation under one name with its settings filled in: what a pipeline is told to make."""

    name: str
    kind: str
    settings: Settings
    settings_hash: str
    revision: int
