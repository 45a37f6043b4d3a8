"""Cluster bootstrap: intervals of a mean over questions when whole conversations are drawn.

Questions of one conversation are alike, so conversations are what is resampled (Davison and Hinkley, Bootstrap Methods
and their Application, 1997, section 3.8); the interval is between the percentiles of the resampled means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

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


FLIPS = 10_000
# 2^14 sums are enumerated faster than 10,000 flips are drawn.
_MOST_EXACT = 14
_FLIPS_STREAM = 1
_ALPHA, _POWER = 0.05, 0.8
# Sums of the same numbers in another order may differ in the last digits; they are the same sum.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class SignFlips:
    """What flipping signs came to: p, how, and how many conversations had a sign to flip."""

    p: float
    method: str
    flips: int


def sign_flips(sums: Floats, *, seed: int) -> SignFlips:
    """Paired permutation test, two-sided, at the level of conversations.

    Were the cells alike, each conversation's sum of differences would be as likely with the other sign; p is the share of
    sign patterns whose total is at least as far from 0 as the total that was seen. Every pattern is enumerated for up to
    14 conversations, else 10,000 are drawn and the one that was seen counts as drawn (Phipson and Smyth, 2010), so that p
    is never 0. Conversations whose sum is 0 have no sign, and leaving them out changes no p.

    Args:
        sums: of differences, one a conversation.
    """
    sums = sums[sums != 0]
    seen = abs(float(np.sum(sums)))
    least = seen - _SAME * float(np.sum(np.abs(sums)))
    if len(sums) <= _MOST_EXACT:
        totals = np.zeros(1)
        for of_conversation in sums:
            totals = np.concatenate([totals + of_conversation, totals - of_conversation])
        p = float(np.mean(np.abs(totals) >= least))
        return SignFlips(p, f"sign flips by conversation, all {len(totals)}", len(sums))
    generator = np.random.default_rng([seed, _FLIPS_STREAM])
    extreme = 0
    for rows in _blocks(FLIPS, len(sums)):
        signs = 2.0 * generator.integers(0, 2, (rows, len(sums)), dtype=np.int8) - 1.0
        extreme += int(np.sum(np.abs(signs @ sums) >= least))
    p = (1 + extreme) / (1 + FLIPS)
    return SignFlips(p, f"sign flips by conversation, {FLIPS} drawn, seed {seed}", len(sums))


def _blocks(rows: int, columns: int) -> list[int]:
    size = max(1, 4_000_000 // columns)
    return [min(size, rows - start) for start in range(0, rows, size)]


@dataclass(frozen=True, slots=True)
class Discordant:
    """What McNemar's test came to.

    Attributes:
        share: of the discordant questions, those that only the first cell has right; None where there are none.
        low, high: its exact 95 % interval (Clopper and Pearson).
    """

    p: float
    share: float | None
    low: float | None
    high: float | None


def mcnemar(only_a: int, only_b: int) -> Discordant:
    """McNemar's exact test, two-sided: the discordant questions against a fair coin. It takes questions as independent."""
    discordant = only_a + only_b
    if not discordant:
        return Discordant(1.0, None, None, None)
    from scipy import stats  # half a second, which only a run with comparisons should pay

    test = stats.binomtest(only_a, discordant, 0.5)
    ends = test.proportion_ci(0.95, method="exact")
    return Discordant(float(test.pvalue), only_a / discordant, float(ends.low), float(ends.high))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of a family; a member without a p counts as one that was not rejected."""
    order = sorted(range(len(values)), key=lambda place: 1.0 if (p := values[place]) is None else p)
    corrected: list[float | None] = [None] * len(values)
    least = 0.0
    for rank, place in enumerate(order):
        if (value := values[place]) is not None:
            least = max(least, min(1.0, (len(values) - rank) * value))
            corrected[place] = least
    return corrected


def detectable(sums: Floats, counts: Floats) -> float | None:
    """The smallest true mean that a two-sided test at 5 % would find with a power of 80 %; None for fewer than 2 clusters.

    (t(.975) + t(.8)) standard errors, t with clusters - 1 degrees of freedom (Bloom, Minimum Detectable Effects, 1995);
    the standard error is that of a ratio of cluster totals, from the variance that was seen (Cochran, Sampling
    Techniques, 1977, 6.3). None too where nothing varies.

    Args:
        sums, counts: of differences and of questions, one a conversation.
    """
    there = counts > 0
    sums, counts = sums[there], counts[there]
    clusters = len(sums)
    if clusters < 2:
        return None
    residuals = sums - counts * (np.sum(sums) / np.sum(counts))
    error = sqrt(clusters / (clusters - 1) * float(np.sum(residuals**2))) / float(np.sum(counts))
    if error <= _SAME * float(np.max(np.abs(sums))) or not error:
        return None
    from scipy import stats  # see mcnemar

    quantiles = stats.t.ppf([1 - _ALPHA / 2, _POWER], clusters - 1)
    return float(np.sum(quantiles)) * error
