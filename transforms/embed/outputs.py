"""What an embedder gave of units or questions, aligned with them, as the seed steps read it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from memlake.transforms.base.arrays import Bools, Float32s, Ints
from memlake.transforms.embed.embedder import Encoded, Ragged

# The columns of a Lance table that each output needs.
COLUMNS = {"dense": ("vector",), "sparse": ("sparse_ids", "sparse_weights"), "multi": ("multi",)}


def columns_of(wanted: Collection[str]) -> list[str]:
    """The columns of a Lance table that hold some outputs, after the unit's id."""
    return ["unit_id", *(column for name, columns in COLUMNS.items() if name in wanted for column in columns)]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of n texts; None for one that was not asked for, or that the embedder does not give.

    Attributes:
        missing: shape (n,): texts that have none, in every output alike.
        dense: shape (n, dimension), rows of NaN where missing.
        sparse: weights of tokens, scipy CSR of float64, shape (n, ids), ids ascending, no row where missing.
        multi: vectors of tokens, none where missing.
    """

    missing: Bools
    dense: Float32s | None = None
    sparse: Any = None
    multi: Ragged | None = None

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def kinds(self) -> frozenset[str]:
        """The outputs that are there: 'dense', 'sparse', 'multi'."""
        return frozenset(name for name in COLUMNS if getattr(self, name) is not None)

    def take(self, rows: Ints) -> "Outputs":
        """The outputs of some texts, in another order."""
        return Outputs(
            self.missing[rows],
            None if self.dense is None else self.dense[rows],
            None if self.sparse is None else self.sparse[rows],
            None if self.multi is None else self.multi.take(rows),
        )


def as_outputs(vectors: "Float32s | Outputs | None") -> Outputs | None:
    """Plain vectors, with rows of NaN where there is none, as outputs."""
    if vectors is None or isinstance(vectors, Outputs):
        return vectors
    missing = np.asarray(np.isnan(vectors).any(axis=1), np.bool_)
    return Outputs(missing, vectors)


def outputs_of(made: Encoded, wanted: Collection[str]) -> Outputs:
    """Outputs straight from an embedder; a text that failed, or whose vector is zero or not finite, is missing."""
    dense = made.dense.copy()
    missing = np.asarray(~np.isfinite(dense).all(axis=1) | ~dense.any(axis=1), np.bool_)
    missing[list(made.failed)] = True
    dense[missing] = np.nan
    return Outputs(
        missing,
        dense if "dense" in wanted else None,
        _matrix(made.sparse, missing) if made.sparse and "sparse" in wanted else None,
        _without(made.multi, missing) if made.multi and "multi" in wanted else None,
    )


def outputs_from(stored: pa.Table, rows: pa.Array) -> Outputs:
    """Outputs from rows of a Lance table, in the order of `rows`; those of the columns that the table has."""
    names = set(stored.column_names)
    taken = {name: stored[name].take(rows).combine_chunks() for name in columns_of(COLUMNS)[1:] if name in names}
    some = next(iter(taken.values()))
    missing = some.is_null().to_numpy(zero_copy_only=False)
    matrix, multi = None, None
    if "sparse_ids" in taken:
        ids, weights = _ragged(taken["sparse_ids"]), _ragged(taken["sparse_weights"])
        matrix = _matrix(Ragged(ids.offsets, (ids.values[0], weights.values[0])), missing)
    if "multi" in taken:
        multi = _ragged(taken["multi"])
    return Outputs(missing, dense_rows(taken["vector"]) if "vector" in taken else None, matrix, multi)


def dense_rows(column: pa.FixedSizeListArray) -> Float32s:
    """The vectors of a column of a Lance table, rows of NaN where there is none."""
    values = np.full((len(column), column.type.list_size), np.nan, np.float32)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    values[there] = column.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return values


def _ragged(column: pa.ListArray) -> Ragged:
    sizes = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    items = column.drop_null().flatten()
    values = items
    shape: tuple[int, ...] = (-1,)
    if pa.types.is_fixed_size_list(items.type):
        values, shape = items.flatten(), (-1, items.type.list_size)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ragged(offsets, (values.to_numpy(zero_copy_only=False).reshape(shape),))


def _matrix(weights_of_ids: Ragged, missing: Bools) -> Any:
    """Ids and their weights as a sparse matrix as wide as its largest id; rows of missing texts are empty."""
    from scipy import sparse  # a fifth of a second, which only plans on tokens should pay

    ids, weights = weights_of_ids.values
    text = np.repeat(np.arange(len(missing)), np.diff(weights_of_ids.offsets))
    kept = ~missing[text]
    width = int(ids.max(initial=0)) + 1
    cells = (weights[kept].astype(np.float64), (text[kept], ids[kept]))
    # Ids are ascending within a text, so products below are added in one order, on every machine.
    return sparse.csr_matrix(cells, shape=(len(missing), width))


def _without(multi: Ragged, missing: Bools) -> Ragged:
    if not missing.any():
        return multi
    sizes = np.diff(multi.offsets)
    kept = np.repeat(~missing, sizes)
    offsets = np.concatenate([[0], np.cumsum(np.where(missing, 0, sizes))]).astype(np.int64)
    return Ragged(offsets, tuple(value[kept] for value in multi.values))
