"""Give the units of a batch their vectors, each distinct text embedded once."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from schemas.vectors import vectors_table
from transforms.batch import Batch
from transforms.embed.catalogue import load
from transforms.embed.parts import vectors_part_hash
from transforms.embed.vectors import embed_units
from transforms.lake.known import Known, changed, only, seen
from transforms.read.conversation import DeadLetter


def embed_batch(batch: Batch, known: Known, *, embedder: str, fingerprint: str) -> Batch:
    """Add vectors of the batch's units, where the lake lacks them, and their parts."""
    units = batch.tables["units"]
    of_units = batch.parts.filter(pc.starts_with(batch.parts["part"], "units:"))
    names = pc.unique(of_units["conversation_id"])
    held = known.parts(names)
    vectors: dict[str, pa.Table] = {}
    parts, dead = [batch.parts], list(batch.dead)
    for part in pc.unique(of_units["part"]).to_pylist():
        representation = part.removeprefix("units:")
        rows = of_units.filter(pc.equal(of_units["part"], part))
        hashes = {
            name: vectors_part_hash(value, fingerprint)
            for name, value in zip(rows["conversation_id"].to_pylist(), rows["content_hash"].to_pylist(), strict=True)
        }
        counts = dict(zip(rows["conversation_id"].to_pylist(), rows["rows"].to_pylist(), strict=True))
        table = vectors_table(representation, embedder)
        missing = changed(held, f"vectors:{table}", hashes)
        parts.append(seen(held, f"vectors:{table}", hashes, counts))
        mine = only(units.filter(pc.equal(units["representation"], representation)), missing)
        if mine.num_rows:
            vectors[table], rejected = embed_units(mine, load(embedder))
            dead.extend(
                DeadLetter(reason, f"unit={unit_id}: no vector", table, None, "unit", "kept", "embed")
                for unit_id, reason in rejected
            )
    return replace(batch, vectors={**batch.vectors, **vectors}, parts=pa.concat_tables(parts), dead=tuple(dead))
