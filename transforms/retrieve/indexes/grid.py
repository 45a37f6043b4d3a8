"""Vectors on a grid, so that a matrix product is the same to the last bit for every library, thread count and batch."""

import numpy as np

from memlake.transforms.base.arrays import Float32s, Floats

# Unit vectors are rounded to this grid. Products are then whole numbers, and by Cauchy-Schwarz every partial sum stays
# below 2^53, so float64 adds them without any rounding. The grid moves a cosine by about 1e-8, less than float32 holds.
GRID = 2.0**26


def on_grid(vectors: Float32s) -> Floats:
    """Unit vectors as whole multiples of 1 / GRID, times GRID; rows with NaN and rows of zeros become zeros."""
    if not np.isfinite(vectors).all():
        vectors = np.nan_to_num(vectors, nan=0.0)
    # Dimension first: summing along it then adds one dimension after another, in an order that no SIMD width changes.
    columns = np.array(vectors.T, dtype=np.float64, order="C")
    columns *= columns
    norm = np.sqrt(np.add.reduce(columns, axis=0))
    rows = np.array(vectors, dtype=np.float64, order="C")
    # Times GRID, a power of two: that takes no rounding of its own.
    rows /= (np.where(norm > 0, norm, 1.0) / GRID)[:, None]
    return np.rint(rows, out=rows)
