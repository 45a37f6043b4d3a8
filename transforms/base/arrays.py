"""NumPy arrays by what they hold, docstrings say their shape; runs of numbers, and a grid on which sums do not depend on order."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


def runs(starts: Ints | int, count: Ints) -> Ints:
    """Runs of consecutive numbers, one run after another: count[i] numbers from starts[i] on."""
    return np.repeat(starts - np.cumsum(count) + count, count) + np.arange(count.sum())


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
