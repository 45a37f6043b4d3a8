"""Link the units of a batch, conversation by conversation, where the lake lacks their links."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import LINKS
from memlake.schemas.vectors import vectors_table
from memlake.transforms.base.batch import Batch
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed.outputs import outputs_from
from memlake.transforms.lake.storage.parts import (
    LINKS_PART,
    UNITS_PART,
    VECTORS_PART,
    BaseParts,
    changed,
    derived_part_hash,
    only,
    rows_by_conversation,
    seen,
)
from memlake.transforms.link.settings import LinkSettings
from memlake.transforms.link.similar import link_rows, similar_units, texts_of


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """What is linked by what: links of stored units by the vectors of one embedder."""

    embedder: str
    settings: LinkSettings


def link_batch(batch: Batch, base_parts: BaseParts, spec: LinkSpec) -> Batch:
    """Replace a batch's units, which are stored, by the links among them, where the lake lacks them, and their parts.

    The parts of units and vectors stay in the batch, not to land but to be compared: where another writer has changed
    them before the commit, the shard is staged again.

    Raises:
        NotFoundError: a conversation's units have no vectors by this embedder.
    """
    units = batch.tables["units"]
    of_units = UNITS_PART.among(batch.parts)
    held = batch.held
    links, parts = [], [batch.parts]
    for representation in pc.unique(of_units["representation"]).to_pylist():
        same = pc.equal(of_units["representation"], representation)
        names = of_units.filter(same)["conversation_id"].to_pylist()
        table = vectors_table(representation, spec.embedder)
        of_vectors = VECTORS_PART.named(table)
        made_of = {name: held[name, of_vectors][0] for name in names if (name, of_vectors) in held}
        if len(made_of) < len(names):
            raise not_embedded(representation, spec.embedder, base_parts.corpus)
        hashes = {name: derived_part_hash(value, spec.settings.settings_hash) for name, value in made_of.items()}
        mine = LINKS_PART.named(representation, spec.settings.relation)
        missing = changed(held, mine, hashes)
        made = LINKS.empty()
        if missing:
            of_it = units.filter(pc.equal(units["representation"], representation))
            made = _linked(
                only(of_it, missing), base_parts.vectors(table, pa.array(sorted(missing), pa.string())), spec
            )
        links.append(made)
        parts.append(seen(held, of_vectors, made_of, {}))
        parts.append(seen(held, mine, hashes, dict.fromkeys(missing, 0) | rows_by_conversation(made)))
    return replace(batch, tables={"links": pa.concat_tables(links)}, parts=pa.concat_tables(parts))


def not_embedded(representation: str, embedder: str, corpus: str) -> NotFoundError:
    """The error for units without vectors."""
    return NotFoundError(
        f"representation={representation!r} is not embedded by embedder={embedder!r} for all of corpus={corpus!r}",
        hint=f"memlake embed --corpus {corpus} --representations {representation} --embedder {embedder}",
    )


def _linked(units: pa.Table, stored: pa.Table, spec: LinkSpec) -> pa.Table:
    """Links among the units of each conversation, which are taken in the order of their ids, as ties are broken by it."""
    units = units.sort_by([("conversation_id", "ascending"), ("unit_id", "ascending")]).combine_chunks()
    # A conversation's vectors are its units', one each: an audit holds every commit to it.
    rows = pc.index_in(units["unit_id"], value_set=stored["unit_id"]).combine_chunks()
    vectors = outputs_from(stored, rows).dense
    assert vectors is not None
    runs = pc.run_end_encode(units["conversation_id"].combine_chunks())
    ends = runs.run_ends.to_numpy()
    made = []
    for start, end in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
        mine = units.slice(start, end - start)
        edges = similar_units(vectors[start:end], texts_of(mine), spec.settings)
        made.append(link_rows(mine, edges, spec.settings.relation))
    return pa.concat_tables(made)
