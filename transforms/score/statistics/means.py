"""Means of every series, over questions and over conversations, with their intervals, on each slice."""

from collections.abc import Iterator

import numpy as np

from memlake.transforms.base.arrays import Floats
from memlake.transforms.score.statistics.resampling import Weights, bootstrap_method, ratio_intervals
from memlake.transforms.score.statistics.rows import NO_SCORES, NO_VARIANCE, ONE_CLUSTER, few_clusters, notes, row_of
from memlake.transforms.score.statistics.series import CorpusScores

# At most so many series, and so many sums by slice and conversation, are held at a time.
_SERIES_AT_A_TIME = 256
_SUMS_AT_A_TIME = 4_000_000


def mean_rows(scores: CorpusScores, weights: Weights, *, run_id: str, seed: int) -> Iterator[dict[str, object]]:
    """A mean and a macro_mean for each series and slice: the micro mean, and the mean of the conversations' means."""
    by_label: dict[str, list[int]] = {}
    for number, series in enumerate(scores.series):
        by_label.setdefault(series.label_set, []).append(number)
    for label_set, numbers in by_label.items():
        slices = scores.slices(label_set)
        size = min(_SERIES_AT_A_TIME, max(1, _SUMS_AT_A_TIME // (len(slices) * len(scores.conversations))))
        for start in range(0, len(numbers), size):
            block = np.array(numbers[start : start + size])
            values = scores.values[block]
            scored = np.isfinite(values)
            sums = scores.by_cluster(np.where(scored, values, 0.0), slices)
            counts = scores.by_cluster(scored, slices)
            excluded = scores.by_cluster(scores.asked[block] & ~scored, slices).sum(axis=2)
            there = np.where(counts > 0, 1.0, 0.0)
            means = np.divide(sums, counts, out=np.zeros(sums.shape), where=counts > 0)
            both = np.concatenate([sums, means]), np.concatenate([counts, there])
            ends = _ends(weights, *both)
            with np.errstate(invalid="ignore", divide="ignore"):
                found = both[0].sum(axis=2) / both[1].sum(axis=2)
            for half, statistic in enumerate(("mean", "macro_mean")):
                for place, number in enumerate(block.tolist()):
                    at = half * len(block) + place
                    for which, (name, _) in enumerate(slices):
                        n, clusters = int(counts[place, which].sum()), int(there[place, which].sum())
                        if n or excluded[place, which]:
                            yield row_of(
                                run_id=run_id,
                                corpus=scores.corpus,
                                **scores.series[number].columns,
                                statistic=statistic,
                                slice=name,
                                n=n,
                                excluded_a=excluded[place, which],
                                clusters=clusters,
                                value=found[at, which],
                                low=ends[0][at, which],
                                high=ends[1][at, which],
                                method=bootstrap_method(seed),
                                note=interval_note(clusters, ends[0][at, which]),
                            )


def interval_note(clusters: int, low: float) -> str | None:
    """What there is to say of an interval over so many conversations; a lower end of NaN is none."""
    if clusters == 0:
        return NO_SCORES
    if clusters == 1:
        return ONE_CLUSTER
    return notes(few_clusters(clusters), NO_VARIANCE if np.isnan(low) else "")


def _ends(weights: Weights, sums: Floats, counts: Floats) -> tuple[Floats, Floats]:
    shape = sums.shape
    low, high = ratio_intervals(weights, sums.reshape(-1, shape[2]), counts.reshape(-1, shape[2]))
    return low.reshape(shape[:2]), high.reshape(shape[:2])
