"""Tests of two cells on the same questions: sign flips by conversation, McNemar, Holm, and what could be found at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from memlake.transforms.base.arrays import Floats

FLIPS = 10_000
# 2^14 sums are enumerated faster than 10,000 flips are drawn.
_MOST_EXACT = 14
_STREAM = 1
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
    generator = np.random.default_rng([seed, _STREAM])
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
