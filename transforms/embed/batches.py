"""Give the units of a batch their vectors, each distinct text embedded once."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.vectors import vectors_table
from memlake.transforms.base.batch import Batch
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.embed.catalogue import opened
from memlake.transforms.embed.vectors import Notes, embed_units
from memlake.transforms.lake.storage.parts import (
    UNITS_PART,
    VECTORS_PART,
    by_conversation,
    changed,
    derived_part_hash,
    only,
    seen,
    unfinished_part_hash,
)

if TYPE_CHECKING:
    from memlake.transforms.llm.edge import EdgeSettings


def embed_batch(batch: Batch, *, embedder: str, fingerprint: str, edge: "EdgeSettings | None" = None) -> Batch:
    """Add vectors of the batch's units, where the lake lacks them, and their parts.

    A conversation of which a text failed for a reason that may pass lands under a hash that the next run finds wanting.

    Args:
        edge: the run's server, for openai:MODEL.

    Raises:
        ModelStoppedError: the server, or the run's limits, stop the whole run.
    """
    units = batch.tables["units"]
    of_units = UNITS_PART.among(batch.parts)
    vectors: dict[str, pa.Table] = {}
    parts, dead, counted = [batch.parts], list(batch.dead), dict(batch.seen)
    for representation in pc.unique(of_units["representation"]).to_pylist():
        rows = of_units.filter(pc.equal(of_units["representation"], representation))
        of_their_units = by_conversation(rows, "content_hash")
        hashes = {name: derived_part_hash(value, fingerprint) for name, value in of_their_units.items()}
        table = vectors_table(representation, embedder)
        part = VECTORS_PART.named(table)
        missing = changed(batch.held, part, hashes)
        of_it = pc.equal(units["representation"], representation)
        mine = only(units if pc.all(of_it).as_py() else units.filter(of_it), missing)
        if mine.num_rows:
            with opened(embedder, edge) as loaded:
                vectors[table], notes = embed_units(mine, loaded)
            dead += _letters(table, notes)
            for name, texts in notes.unfinished.items():
                hashes[name] = unfinished_part_hash(hashes[name], texts)
            for what, number in (("texts", notes.texts), ("texts_embedded", notes.embedded)):
                counted[what] = counted.get(what, 0) + number
        parts.append(seen(batch.held, part, hashes, by_conversation(rows, "rows")))
    return replace(
        batch,
        vectors={**batch.vectors, **vectors},
        parts=pa.concat_tables(parts),
        dead=tuple(dead),
        seen=counted,
    )


def _letters(table: str, notes: Notes) -> list[DeadLetter]:
    """A letter for each unit without a vector, and for each whose vector is of a part of its text."""
    without = [
        (reason, f"unit={unit_id}: no vector{detail}")
        for (unit_id, reason), detail in zip(notes.rejected, notes.details, strict=True)
    ]
    cut = [
        ("text_cut", f"unit={unit_id}: the model saw the first {used} of {total} tokens")
        for unit_id, used, total in notes.cut
    ]
    return [DeadLetter(reason, error, table, None, "unit", "kept", "embed") for reason, error in (*without, *cut)]
