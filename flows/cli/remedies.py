"""What to do to have again what a change took away: commands that work as they are printed."""

import json
import shlex
from collections.abc import Collection

from flows.config import lake_flag
from schemas.vectors import vectors_table
from transforms.embed.catalogue import EMBEDDERS
from transforms.lake.lake import open_lake
from transforms.represent.catalogue import REPRESENTATIONS

_OF_CORPUS = " of corpus "
_SUPPLIED = "ingest the source again that supplied its units"


def remedy(stale: str, *, among: Collection[str], corpus: str, lake: str) -> str:
    """The command that makes a stale part again, or where it comes from when no command does.

    Args:
        stale: 'units:NAME', 'vectors:TABLE', either with ' of corpus NAME' when it is another one, or 'questions:LABELS'.
        among: every stale part of the run; vectors cannot be made again before the units are.
        corpus: the corpus that the run was about.
        lake: the lake as the user named it.
    """
    part, _, other = stale.partition(_OF_CORPUS)
    kind, _, name = part.partition(":")
    of = f" --corpus {shlex.quote(other or corpus)}"
    if kind == "units":
        spec = _spec(name, lake)
        if spec is None:
            return _SUPPLIED
        return f"memlake represent {shlex.quote(spec)}{of}{lake_flag(lake)}"
    if kind == "vectors":
        representation, embedder = _made_of(name)
        if f"units:{representation}" in among and _spec(representation, lake) is None:
            return _SUPPLIED
        chosen = f" --representations {shlex.quote(representation)} --embedder {shlex.quote(embedder)}"
        return f"memlake embed{of}{chosen}{lake_flag(lake)}"
    return "ingest a source that brings them"


def _spec(name: str, lake: str) -> str | None:
    """How `memlake represent` is asked for a stored representation; None for one that a source supplied."""
    rows = open_lake(lake).latest().read("representations").to_pylist()
    stored = next((row for row in rows if row["representation"] == name), None)
    kind = name if stored is None else stored["kind"]
    if kind not in REPRESENTATIONS:
        return None
    if stored is None or name == kind:
        return name
    settings = [f"{key}={_plain(value)}" for key, value in json.loads(stored["settings"]).items()]
    return f"{name}:{','.join(settings)}" if settings else name


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _made_of(table: str) -> tuple[str, str]:
    """The representation and the embedder of a table of vectors; its name holds no sign that a path may not have."""
    representation, _, stored = table.rpartition("__")
    embedder = next((name for name in EMBEDDERS if vectors_table(representation, name) == table), stored)
    return representation, embedder
