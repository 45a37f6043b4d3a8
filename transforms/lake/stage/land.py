"""Cut a batch down to what its parts say is to land."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.batch import Batch
from memlake.transforms.lake.storage.base_parts import only

_BY_UNITS = ("units", "provenance", "extractions")
_BY_LABELS = ("questions", "evidence")


def keep_staged(batch: Batch) -> Batch:
    """The batch with only the rows of parts that are staged; the lake holds the others as they are."""
    staged = batch.parts.filter(batch.parts["staged"])
    tables: dict[str, pa.Table] = {}
    for name, rows in batch.tables.items():
        if name in _BY_UNITS:
            tables[name] = _by_value(rows, staged, "units:", "representation")
        elif name == "links":
            tables[name] = _links(rows, staged)
        elif name in _BY_LABELS:
            tables[name] = _by_value(rows, staged, "questions:", "label_set")
        else:
            tables[name] = only(rows, _of(staged, "turns"))
    vectors = {name: only(rows, _of(staged, f"vectors:{name}")) for name, rows in batch.vectors.items()}
    return replace(batch, tables=tables, vectors=vectors)


def _links(rows: pa.Table, staged: pa.Table) -> pa.Table:
    """Links whose units are staged, or which are staged as a part of their own: links:REPRESENTATION:RELATION."""
    kinds = rows.group_by(["representation", "relation"], use_threads=False).aggregate([]).to_pylist()
    kept = [rows.slice(0, 0)]
    for kind in kinds:
        representation, relation = kind["representation"], kind["relation"]
        same = pc.and_(pc.equal(rows["representation"], representation), pc.equal(rows["relation"], relation))
        names = _of(staged, f"units:{representation}") | _of(staged, f"links:{representation}:{relation}")
        kept.append(only(rows.filter(same), names))
    return pa.concat_tables(kept)


def _of(staged: pa.Table, part: str) -> set[str]:
    return set(staged["conversation_id"].filter(pc.equal(staged["part"], part)).to_pylist())


def _by_value(rows: pa.Table, staged: pa.Table, prefix: str, column: str) -> pa.Table:
    """Rows of conversations whose part PREFIX + VALUE is staged, for each value of a column."""
    if not rows.num_rows:
        return rows
    kept = [
        only(rows.filter(pc.equal(rows[column], value)), _of(staged, f"{prefix}{value}"))
        for value in pc.unique(rows[column]).to_pylist()
    ]
    return pa.concat_tables(kept)
