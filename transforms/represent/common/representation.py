"""What every representation is: a function from turns to units, provenance and links; some ask a model on the way."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from memlake.schemas.extractions import EXTRACTIONS
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.llm.protocol.model import Model, Request

Settings = Mapping[str, int | float | str | bool]


@dataclass(frozen=True, slots=True)
class Units:
    """Rows of the tables that a representation is made of, in the schemas of the same names.

    Attributes:
        extractions: of a representation that asks a model, what came of every piece; none of the others.
        dead: a letter for each piece that failed.
        unfinished: conversation_id to the request hashes whose failure may pass; the next run asks for these again.
    """

    units: pa.Table
    provenance: pa.Table
    links: pa.Table
    extractions: pa.Table = field(default_factory=EXTRACTIONS.empty)
    dead: tuple[DeadLetter, ...] = ()
    unfinished: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asking:
    """How a representation is made with a model.

    Attributes:
        build: turns of whole conversations, sorted by (conversation_id, ordinal), to units; asks as it goes.
        first_requests: the requests that are known before any reply, in order: what a price is estimated from.
        material: the texts beside the settings that decide what comes out (prompt, schema): part of the settings hash.
    """

    build: Callable[["RepresentationSpec", pa.Table, Model], Awaitable[Units]]
    first_requests: Callable[["RepresentationSpec", pa.Table], Sequence[Request]]
    material: Callable[[Settings], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Representation:
    """A named way to make units, by rule (`build`) or with a model (`asking`); exactly one of the two is given.

    Attributes:
        build: turns of whole conversations, sorted by (conversation_id, ordinal), to units.
        defaults: every setting with its default; another name is another setting (`chunks-o0`). Those that ask a model
            also have `model` and `provider`, which are '' here: the run names them.
        revision: raised only when the output changes for the same settings.
        check: raises UsageError for settings that make no sense, before any work.
    """

    kind: str
    build: Callable[["RepresentationSpec", pa.Table], Units] | None
    defaults: Settings
    revision: int = 1
    check: Callable[[Settings], None] | None = None
    asking: Asking | None = None


@dataclass(frozen=True, slots=True)
class RepresentationSpec:
    """One representation under one name with its settings filled in: what a pipeline makes."""

    name: str
    kind: str
    settings: Settings
    settings_hash: str
    revision: int
