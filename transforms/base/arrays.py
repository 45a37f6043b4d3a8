"""NumPy arrays by what they hold; docstrings say their shape."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


def runs(starts: Ints | int, count: Ints) -> Ints:
    """Runs of consecutive numbers, one run after another: count[i] numbers from starts[i] on."""
    return np.repeat(starts - np.cumsum(count) + count, count) + np.arange(count.sum())
