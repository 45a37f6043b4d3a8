"""What to do to have again what a change took away: commands that work as they are printed."""

import json
import shlex
from collections.abc import Collection

from memlake.flows.run.config import lake_flag
from memlake.schemas import RUNS
from memlake.schemas.vectors import embedder_name, made_by, representation_of, vectors_table
from memlake.transforms.embed.catalogue import EMBEDDERS, SERVED
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.lake.storage.parts import LINKS_PART, UNITS_PART, VECTORS_PART, kind_of_part
from memlake.transforms.represent.catalogue import OF_THE_RUN, REPRESENTATIONS

_OF_CORPUS = " of corpus "
_SUPPLIED = "ingest the source again that supplied its units"


def remedy(stale: str, *, among: Collection[str], corpus: str, lake: str) -> str:
    """The command that makes a stale part again, or where it comes from when no command does.

    Args:
        stale: a part's name, of vectors with ' of corpus NAME' when it is another one.
        among: every stale part of the run; vectors cannot be made again before the units are.
        corpus: the corpus that the run was about.
        lake: the lake as the user named it.
    """
    part, _, other = stale.partition(_OF_CORPUS)
    kind = kind_of_part(part)
    name, *_ = kind.values_of(part)
    of = f" --corpus {shlex.quote(other or corpus)}"
    if kind is UNITS_PART:
        spec = _spec(name, lake)
        if spec is None:
            return _SUPPLIED
        return f"memlake represent {shlex.quote(spec)}{of}{_model_flags(name, lake)}{lake_flag(lake)}"
    if kind is VECTORS_PART:
        representation, embedder = _made_of(name, lake)
        if UNITS_PART.named(representation) in among and _spec(representation, lake) is None:
            return _SUPPLIED
        chosen = f" --representations {shlex.quote(representation)} --embedder {shlex.quote(embedder)}"
        return f"memlake embed{of}{chosen}{lake_flag(lake)}"
    if kind is LINKS_PART:
        name, relation = kind.values_of(part)
        return f"memlake link {shlex.quote(name)}{of}{_link_flags(name, relation, corpus, lake)}{lake_flag(lake)}"
    return "ingest a source that brings them"


def _spec(name: str, lake: str) -> str | None:
    """How `memlake represent` is asked for a stored representation; None for one that a source supplied."""
    kind, settings = _stored(name, lake)
    if kind not in REPRESENTATIONS:
        return None
    if name == kind:
        return name
    given = ",".join(f"{key}={_plain(value)}" for key, value in settings.items() if key not in OF_THE_RUN)
    return f"{name}:{given}" if given else name


def _model_flags(name: str, lake: str) -> str:
    """The model that made a stored representation, as flags; '' for one that no model made."""
    _, settings = _stored(name, lake)
    return "".join(f" --{key} {shlex.quote(str(settings[key]))}" for key in OF_THE_RUN if key in settings)


def _link_flags(representation: str, relation: str, corpus: str, lake: str) -> str:
    """How `memlake link` was last told to make some links, as flags: the journal of runs knows."""
    runs = open_lake(lake).open_table(RUNS).to_pyarrow_table(columns=["flow", "event", "logged_at", "settings"])
    found = ""
    for row in runs.sort_by("logged_at").to_pylist():
        told = json.loads(row["settings"]) if row["flow"] == "link" and row["event"] == "ended" else {}
        links = told.get("links", {})
        if links.get("relation") == relation and told["corpus"] == corpus and representation in told["names"]:
            flags = {**links, "embedder": told["embedder"]}
            found = "".join(
                f" --{key.replace('_', '-')} {shlex.quote(str(value))}"
                for key, value in flags.items()
                if value is not None
            )
    return found or f" --relation {shlex.quote(relation)}"


def _stored(name: str, lake: str) -> tuple[str, dict[str, object]]:
    """Kind and settings of a representation; of one that is not stored its name, and none."""
    rows = open_lake(lake).latest().read("representations").to_pylist()
    stored = next((row for row in rows if row["representation"] == name), None)
    return (name, {}) if stored is None else (stored["kind"], json.loads(stored["settings"]))


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _made_of(table: str, lake: str) -> tuple[str, str]:
    """The representation and the embedder of a table of vectors, as `--embedder` takes it."""
    representation = representation_of(table)
    stored = table.removeprefix(vectors_table(representation, ""))
    if any(vectors_table(representation, name) == table for name in EMBEDDERS):
        return representation, stored
    vectors = open_lake(lake).latest().lance_table(table)
    model = made_by(vectors.schema).get("memlake:model", "") if vectors is not None else ""
    return representation, _embedder(stored, model)


def _embedder(stored: str, model: str) -> str:
    """How an embedder is asked for of which tables are named `stored`; where a folder lay is on no record."""
    kind = next((kind for kind in (SERVED, "flag", "sentence") if stored.startswith(f"{kind}-")), "")
    mark, unknown = (":", "MODEL") if kind == SERVED else ("@", "./FOLDER")
    parts = model.split("/")
    # Of a served model the provider's name stands first; a hub id is OWNER/NAME.
    known = [f"{kind}{mark}{'/'.join(parts[start:])}" for start in range(len(parts) - (kind != SERVED))]
    return next((text for text in known if embedder_name(text) == stored), f"{kind}{mark}{unknown}" if kind else stored)
