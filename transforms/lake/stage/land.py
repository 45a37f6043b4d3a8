"""Cut a batch down to what its parts say is to land."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.batch import Batch
from memlake.transforms.lake.storage.base_parts import only
from memlake.transforms.lake.storage.parts import VECTORS_PART, owners_of


def keep_staged(batch: Batch) -> Batch:
    """The batch with only the rows of parts that are staged; the lake holds the others as they are."""
    staged = batch.parts.filter(batch.parts["staged"])
    tables = {name: _landing(name, rows, staged) for name, rows in batch.tables.items()}
    vectors = {name: only(rows, _of(staged, VECTORS_PART.named(name))) for name, rows in batch.vectors.items()}
    return replace(batch, tables=tables, vectors=vectors)


def _landing(table: str, rows: pa.Table, staged: pa.Table) -> pa.Table:
    """Rows of conversations of which a part that owns them is staged, for each combination of values in part names."""
    owners = owners_of(table)
    columns = list(owners[-1].columns)
    kept = [rows.slice(0, 0)]
    for values in rows.group_by(columns, use_threads=False).aggregate([]).to_pylist() if columns else [{}]:
        names = set().union(*(_of(staged, kind.named(*(values[name] for name in kind.columns))) for kind in owners))
        same = rows
        for name, value in values.items():
            same = same.filter(pc.equal(same[name], value))
        kept.append(only(same, names))
    return pa.concat_tables(kept)


def _of(staged: pa.Table, part: str) -> set[str]:
    return set(staged["conversation_id"].filter(pc.equal(staged["part"], part)).to_pylist())
