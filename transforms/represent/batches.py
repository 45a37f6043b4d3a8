"""Give a batch of conversations its units, for what the lake does not hold already."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import EXTRACTIONS, LINKS, PROVENANCE, UNITS
from memlake.schemas.vectors import vectors_table
from memlake.transforms.base.batch import Batch, Held
from memlake.transforms.lake.storage.parts import (
    TURNS_PART,
    UNITS_PART,
    VECTORS_PART,
    BaseParts,
    by_conversation,
    changed,
    derived_part_hash,
    only,
    rows_by_conversation,
    seen,
    unfinished_part_hash,
)
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.protocol.model import Model
from memlake.transforms.represent.catalogue import asking, represent
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.supplied import refused_supplies, supplied_parts, supplied_spec, supplied_units

_TABLES = {"units": UNITS, "provenance": PROVENANCE, "links": LINKS, "extractions": EXTRACTIONS}


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """What a pipeline makes: representations of each conversation, and vectors of their units.

    Attributes:
        embedder: '' for none.
        fingerprint: of the embedder's model, revision and dimension; part of every vector part's hash.
        edge: how models are asked; None where nothing asks one.
    """

    base_parts: BaseParts
    specs: tuple[RepresentationSpec, ...]
    embedder: str = ""
    fingerprint: str = ""
    edge: EdgeSettings | None = None

    @property
    def asks(self) -> bool:
        """Whether a representation is made with a model."""
        return any(asking(spec) for spec in self.specs)

    def lacks(self, name: str, held: Held, hashes: Mapping[str, str]) -> set[str]:
        """Conversations of which the lake lacks the units of a representation, or their vectors."""
        missing = changed(held, UNITS_PART.named(name), hashes)
        if self.embedder:
            part = VECTORS_PART.named(vectors_table(name, self.embedder))
            missing |= changed(held, part, _derived(hashes, self.fingerprint))
        return missing


def to_ask(batch: Batch, build: BuildSpec) -> list[tuple[RepresentationSpec, pa.Table]]:
    """The representations that ask a model, each with the turns of the conversations that lack it; the others are left out."""
    turns, hashes = batch.tables["turns"], _turns_hashes(batch)
    lacking = (
        (spec, build.lacks(spec.name, batch.held, _derived(hashes, spec.settings_hash)))
        for spec in build.specs
        if asking(spec)
    )
    return [(spec, only(turns, missing)) for spec, missing in lacking if missing]


async def ask_units(lacking: Sequence[tuple[RepresentationSpec, pa.Table]], model: Model) -> Mapping[str, Units]:
    """Units of representations that ask a model, by name, of the turns that `to_ask` gives with them."""
    made: dict[str, Units] = {}
    for spec, turns in lacking:
        how = asking(spec)
        assert how is not None
        made[spec.name] = await how.build(spec, turns, model)
    return made


def build_units(batch: Batch, build: BuildSpec, asked: Mapping[str, Units] | None = None) -> Batch:
    """Add units, provenance, links, extractions and their parts to a batch of turns.

    Units are made for conversations of which units or vectors are missing; the part says which of the two is to land.
    A conversation whose model calls are not all answered lands with what there is, under a hash that the next run finds
    wanting.

    Args:
        asked: from `ask_units`.
    """
    turns = batch.tables["turns"]
    turns_hashes = _turns_hashes(batch)
    made: list[Units] = []
    parts, dead, counted = [batch.parts], list(batch.dead), Counter(batch.seen)
    for spec in build.specs:
        hashes = _derived(turns_hashes, spec.settings_hash)
        missing = build.lacks(spec.name, batch.held, hashes)
        units = None
        if missing:
            units = (asked or {})[spec.name] if asking(spec) else represent(spec, only(turns, missing))
        rows: dict[str, int] = {}
        if units is not None:
            made.append(units)
            dead += units.dead
            counted.update(_pieces(units.extractions))
            rows = dict.fromkeys(missing, 0) | rows_by_conversation(units.units)
            for name, requests in units.unfinished.items():
                hashes[name] = unfinished_part_hash(hashes[name], requests)
        parts.append(seen(batch.held, UNITS_PART.named(spec.name), hashes, rows))
    if batch.conversations:
        dead += refused_supplies(batch.conversations)
        for name, units in supplied_units(build.base_parts.corpus, batch.conversations, turns).items():
            table = supplied_parts(supplied_spec(name), units)
            hashes = by_conversation(table, "content_hash")
            missing = build.lacks(name, batch.held, hashes)
            made.append(Units(only(units.units, missing), only(units.provenance, missing), only(units.links, missing)))
            parts.append(seen(batch.held, UNITS_PART.named(name), hashes, by_conversation(table, "rows")))
    tables = {
        name: pa.concat_tables([table.empty(), *(getattr(units, name) for units in made)])
        for name, table in _TABLES.items()
    }
    return replace(
        batch,
        conversations=(),
        tables={**batch.tables, **tables},
        parts=pa.concat_tables(parts),
        dead=tuple(dead),
        seen=dict(counted),
    )


def _pieces(extractions: pa.Table) -> dict[str, int]:
    """How many pieces a model was to represent, how many of them failed, and how many turns these have."""
    failed = extractions.filter(pc.equal(extractions["outcome"], "failed"))
    turns = pc.sum(pc.subtract(failed["last_ordinal"], failed["first_ordinal"])).as_py() or 0
    counts = {"pieces": extractions.num_rows, "pieces_failed": failed.num_rows, "turns_failed": turns + failed.num_rows}
    return {name: number for name, number in counts.items() if number}


def _derived(hashes: Mapping[str, str], made_by: str) -> dict[str, str]:
    return {name: derived_part_hash(value, made_by) for name, value in hashes.items()}


def _turns_hashes(batch: Batch) -> dict[str, str]:
    return by_conversation(TURNS_PART.among(batch.parts), "content_hash")
