"""Give a batch of conversations its units, for what the lake does not hold already."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import EXTRACTIONS, LINKS, PROVENANCE, UNITS
from memlake.schemas.vectors import vectors_table
from memlake.transforms.base.batch import Batch
from memlake.transforms.lake.storage.base_parts import BaseParts, changed, only, seen
from memlake.transforms.lake.storage.parts import derived_part_hash, unfinished_part_hash, units_part, vectors_part_hash
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.protocol.model import Model
from memlake.transforms.represent.catalogue import asking, represent
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.supplied import refused_supplies, supplied_making, supplied_parts, supplied_units

_TABLES = {"units": UNITS, "provenance": PROVENANCE, "links": LINKS, "extractions": EXTRACTIONS}


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """What a pipeline makes: representations of each conversation, and vectors of their units.

    Attributes:
        embedder: '' for none.
        fingerprint: of the embedder's model, revision and dimension; part of every vector part's hash.
        edge: how models are asked; None where nothing asks one.
    """

    known: BaseParts
    makings: tuple[RepresentationSpec, ...]
    embedder: str = ""
    fingerprint: str = ""
    edge: EdgeSettings | None = None

    @property
    def asks(self) -> bool:
        """Whether a representation is made with a model."""
        return any(asking(making) for making in self.makings)

    def lacks(self, name: str, held: Mapping[tuple[str, str], tuple[str, int]], hashes: Mapping[str, str]) -> set[str]:
        """Conversations of which the lake lacks the units of a representation, or their vectors."""
        missing = changed(held, units_part(name), hashes)
        if self.embedder:
            part = f"vectors:{vectors_table(name, self.embedder)}"
            vectors = {key: vectors_part_hash(value, self.fingerprint) for key, value in hashes.items()}
            missing |= changed(held, part, vectors)
        return missing


def to_ask(batch: Batch, wanted: BuildSpec) -> list[tuple[RepresentationSpec, pa.Table]]:
    """The representations that ask a model, each with the turns of the conversations that lack it; the others are left out."""
    turns, hashes = batch.tables["turns"], _turns_hashes(batch)
    held = wanted.known.parts(pc.unique(turns["conversation_id"]))
    lacking = (
        (making, wanted.lacks(making.name, held, _derived(hashes, making)))
        for making in wanted.makings
        if asking(making)
    )
    return [(making, only(turns, missing)) for making, missing in lacking if missing]


async def ask_units(lacking: Sequence[tuple[RepresentationSpec, pa.Table]], model: Model) -> Mapping[str, Units]:
    """Units of representations that ask a model, by name, of the turns that `to_ask` gives with them."""
    made: dict[str, Units] = {}
    for making, turns in lacking:
        how = asking(making)
        assert how is not None
        made[making.name] = await how.build(making, turns, model)
    return made


def build_units(batch: Batch, wanted: BuildSpec, asked: Mapping[str, Units] | None = None) -> Batch:
    """Add units, provenance, links, extractions and their parts to a batch of turns.

    Units are made for conversations of which units or vectors are missing; the part says which of the two is to land.
    A conversation whose model calls are not all answered lands with what there is, under a hash that the next run finds
    wanting.

    Args:
        asked: from `ask_units`.
    """
    turns = batch.tables["turns"]
    names = pc.unique(turns["conversation_id"])
    held = wanted.known.parts(names)
    turns_hashes = _turns_hashes(batch)
    made: list[Units] = []
    parts, dead, counted = [batch.parts], list(batch.dead), Counter(batch.seen)
    for making in wanted.makings:
        hashes = _derived(turns_hashes, making)
        missing = wanted.lacks(making.name, held, hashes)
        units = None
        if missing:
            units = (asked or {})[making.name] if asking(making) else represent(making, only(turns, missing))
        rows: dict[str, int] = {}
        if units is not None:
            made.append(units)
            dead += units.dead
            counted.update(_pieces(units.extractions))
            rows = dict.fromkeys(missing, 0) | _counts(units.units)
            for name, requests in units.unfinished.items():
                hashes[name] = unfinished_part_hash(hashes[name], requests)
        parts.append(seen(held, units_part(making.name), hashes, rows))
    if batch.conversations:
        dead += refused_supplies(batch.conversations)
        for name, units in supplied_units(wanted.known.corpus, batch.conversations, turns).items():
            table = supplied_parts(supplied_making(name), units)
            hashes = _column_map(table, "content_hash")
            missing = wanted.lacks(name, held, hashes)
            made.append(Units(only(units.units, missing), only(units.provenance, missing), only(units.links, missing)))
            parts.append(seen(held, units_part(name), hashes, _column_map(table, "rows")))
    tables = {name: _concat([getattr(units, name) for units in made], table.schema) for name, table in _TABLES.items()}
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


def _derived(turns_hashes: Mapping[str, str], making: RepresentationSpec) -> dict[str, str]:
    return {name: derived_part_hash(value, making.settings_hash) for name, value in turns_hashes.items()}


def _turns_hashes(batch: Batch) -> dict[str, str]:
    rows = batch.parts.filter(pc.equal(batch.parts["part"], "turns"))
    return dict(zip(rows["conversation_id"].to_pylist(), rows["content_hash"].to_pylist(), strict=True))


def _counts(units: pa.Table) -> dict[str, int]:
    counted = units.group_by("conversation_id", use_threads=False).aggregate([([], "count_all")])
    return dict(zip(counted["conversation_id"].to_pylist(), counted["count_all"].to_pylist(), strict=True))


def _column_map(parts: pa.Table, column: str) -> dict[str, Any]:
    return dict(zip(parts["conversation_id"].to_pylist(), parts[column].to_pylist(), strict=True))


def _concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(tables) if tables else schema.empty_table()
