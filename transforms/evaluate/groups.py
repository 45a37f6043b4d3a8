"""The conversations that are asked about, in groups of a size that memory holds, once all their units are known to be there."""

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.storage.parts import UNITS_PART
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.represent.catalogue import REPRESENTATIONS, kind_named


def conversation_groups(
    snapshot: Snapshot, corpus: str, representations: Sequence[str], questions: pa.Table, most: int
) -> Iterator[list[str]]:
    """Conversations of the questions, in groups of about `most` units of these representations.

    Raises:
        NotFoundError: a conversation lacks a representation.
    """
    names = pc.unique(questions["conversation_id"])
    where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(names)
    parts = snapshot.read("parts", columns=["conversation_id", "part", "rows"], where=where)
    counts: dict[str, dict[str, int]] = {}
    for name, part, rows in zip(*(column.to_pylist() for column in parts.columns), strict=True):
        counts.setdefault(name, {})[part] = rows
    wanted = {UNITS_PART.named(name): name for name in representations}
    group: list[str] = []
    size = 0
    for name in names.to_pylist():
        missing = [of_part for part, of_part in wanted.items() if part not in counts.get(name, {})]
        if missing:
            representation = missing[0]
            raise NotFoundError(
                f"conversation={name!r} of corpus={corpus!r} has no units of representation={representation!r}",
                hint=_command_that_makes(representation, corpus, snapshot),
            )
        size += sum(counts[name][part] for part in wanted)
        group.append(name)
        if size >= most:
            yield group
            group, size = [], 0
    if group:
        yield group


def _command_that_makes(name: str, corpus: str, snapshot: Snapshot) -> str:
    """The command that gives conversations a representation: with the settings it is stored with, or from a source."""
    kind = kind_named(name)
    if kind is None:
        return f"its units come from a source: memlake ingest SOURCE --corpus {corpus}, with one that supplies {name}"
    stored = snapshot.read("representations", columns=["settings"], where=pc.field("representation") == name)
    defaults = REPRESENTATIONS[kind].defaults
    settings = json.loads(stored["settings"][0].as_py()) if stored.num_rows else {}
    other = ",".join(f"{key}={value}" for key, value in settings.items() if value != defaults.get(key))
    return f"memlake represent {name}{':' if other else ''}{other} --corpus {corpus}"
