"""Cluster bootstrap: intervals of a mean over questions when whole conversations are drawn.

Questions of one conversation are alike, so conversations are what is resampled (Davison and Hinkley, Bootstrap Methods
and their Application, 1997, section 3.8); the interval is between the percentiles of the resampled means.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from memlake.transforms.base.arrays import Bools, Floats, Ints

RESAMPLES = 10_000
_TAILS = (0.025, 0.975)
# Of resampled means, some megabytes; of weights as floats, some dozens.
_COLUMNS_AT_A_TIME = 64
_WEIGHTS_AT_A_TIME = 8_000_000
# Each use of the seed draws from a stream of its own, so that one more test changes no interval.
_STREAM = 0

Weights = npt.NDArray[np.uint16]


def bootstrap_method(seed: int) -> str:
    """What the column `method` says of such an interval."""
    return f"cluster bootstrap over conversations, percentile 95 %, {RESAMPLES} resamples, seed {seed}"


def cluster_weights(clusters: int, seed: int, *, resamples: int = RESAMPLES) -> Weights:
    """How often each cluster is drawn in each resample: shape (resamples, clusters), every row sums to `clusters`."""
    generator = np.random.default_rng([seed, _STREAM])
    weights = np.empty((resamples, clusters), np.uint16)
    block = max(1, _WEIGHTS_AT_A_TIME // max(clusters, 1))
    for start in range(0, resamples if clusters else 0, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, clusters, (rows, clusters)) + clusters * np.arange(rows)[:, None]
        counted = np.bincount(drawn.ravel(), minlength=rows * clusters)
        weights[start : start + rows] = counted.reshape(rows, clusters)
    return weights


def ratio_intervals(weights: Weights, sums: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The interval of sum(sums) / sum(counts) of each column of numbers, all over the same resamples.

    A resample in which a column counts nothing says nothing of it and is left out. NaN where a column has fewer than two
    clusters that count, or where every cluster has the same ratio.

    Args:
        sums, counts: shape (columns, clusters).

    Returns:
        Lower and upper ends, shape (columns,).
    """
    kept, place = _distinct(np.concatenate([sums, counts], axis=1))
    sums, counts = sums[kept], counts[kept]
    varies = _varies(sums, counts)
    low, high = np.full(len(kept), np.nan), np.full(len(kept), np.nan)
    counted, count_of = _distinct(counts)
    # Columns that count alike stand together, so that a block needs few products of its counts.
    order = np.argsort(count_of, kind="stable")
    order = order[varies[order]]
    floats = _Floats(weights)
    totals = np.empty((min(_COLUMNS_AT_A_TIME, len(order)), len(weights)))
    for start in range(0, len(order), _COLUMNS_AT_A_TIME):
        columns = order[start : start + _COLUMNS_AT_A_TIME]
        alike, which = np.unique(count_of[columns], return_inverse=True)
        means = floats.products(sums[columns], totals[: len(columns)])
        drawn = floats.products(counts[counted[alike]])
        with np.errstate(invalid="ignore", divide="ignore"):
            for row, kind in enumerate(which):
                means[row] /= drawn[kind]
        low[columns], high[columns] = percentile_ends(means)
    return low[place], high[place]


def resampled(weights: Weights, columns: Floats, statistic: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The interval of a statistic of the clusters' sums, such as kappa of four counts.

    Args:
        columns: shape (terms, clusters).
        statistic: from the sums, shape (terms, resamples), to one value a resample, NaN where it has none.
    """
    low, high = percentile_ends(statistic(_Floats(weights).products(columns))[None, :])
    return float(low[0]), float(high[0])


def percentile_ends(values: Floats) -> tuple[Floats, Floats]:
    """The 2.5th and 97.5th percentile of each row, between neighbours by linear interpolation; NaN are left out.

    The values of a row end in another order.
    """
    ends = np.full((2, len(values)), np.nan)
    missing = np.isnan(values).any(axis=1)
    if not missing.any():
        ends[:] = _percentiles(values)
        return ends[0], ends[1]
    if not missing.all():
        ends[:, ~missing] = _percentiles(values[~missing])
    for row in np.flatnonzero(missing):
        there = values[row][~np.isnan(values[row])]
        if len(there):
            ends[:, row] = _percentiles(there[None, :])[:, 0]
    return ends[0], ends[1]


def _percentiles(values: Floats) -> Floats:
    """Percentiles of rows without NaN, in place: four order statistics by two partitions, a quarter of a sort's time."""
    last = values.shape[1] - 1
    low, high = _TAILS[0] * last, _TAILS[1] * last
    below, above = int(low), int(high)
    if above - below < 3:
        found: Floats = np.quantile(values, _TAILS, axis=1)
        return found
    values.partition(below + 1, axis=1)
    rest = values[:, below + 2 :]
    rest.partition(above - below - 2, axis=1)
    lower, upper = values[:, : below + 1].max(axis=1), values[:, below + 1]
    first, second = values[:, above], values[:, above + 1 :].min(axis=1)
    # Of dollars a right answer a resample without one is infinite; such an end is no number.
    with np.errstate(invalid="ignore"):
        return np.stack([lower + (low - below) * (upper - lower), first + (high - above) * (second - first)])


class _Floats:
    """Weights as floats for products: once if they are few, else a block of resamples at a time."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._whole = weights.T.astype(np.float64) if weights.size <= _WEIGHTS_AT_A_TIME else None

    def products(self, columns: Floats, into: Floats | None = None) -> Floats:
        """Columns summed over the drawn clusters: shape (columns, resamples)."""
        totals = np.empty((len(columns), len(self._weights))) if into is None else into
        if self._whole is not None:
            return np.matmul(columns, self._whole, out=totals)
        block = max(1, _WEIGHTS_AT_A_TIME // self._weights.shape[1])
        for start in range(0, len(self._weights), block):
            rows = slice(start, start + block)
            totals[:, rows] = columns @ self._weights[rows].T.astype(np.float64)
        return totals


def _distinct(columns: Floats) -> tuple[Ints, Ints]:
    """The first of each kind of column, and of each column its kind."""
    places: dict[bytes, int] = {}
    kept: list[int] = []
    kinds = np.empty(len(columns), np.int64)
    for number, column in enumerate(columns):
        kind = places.setdefault(column.tobytes(), len(places))
        if kind == len(kept):
            kept.append(number)
        kinds[number] = kind
    return np.array(kept, np.int64), kinds


def _varies(sums: Floats, counts: Floats) -> Bools:
    """Whether two clusters of a column have different ratios, by more than the last digits."""
    total = counts.sum(axis=1, keepdims=True)
    ratio = np.divide(sums.sum(axis=1, keepdims=True), total, out=np.zeros(total.shape), where=total > 0)
    off = np.abs(sums - counts * ratio).max(axis=1, initial=0.0)
    return (total[:, 0] > 0) & (off > 1e-12 * np.abs(sums).max(axis=1, initial=0.0))
