"""What the scores of a run say: means with intervals, the study's comparisons with tests, agreement of judges, spread."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from memlake.transforms.base.arrays import Floats
from memlake.transforms.score.statistics.agreement import agreement_rows, repeat_rows, unlike_judges
from memlake.transforms.score.statistics.comparisons import comparison_rows
from memlake.transforms.score.statistics.resampling import Weights, bootstrap_method, cluster_weights, ratio_intervals
from memlake.transforms.score.statistics.series import (
    CorpusScores,
    corpora_of,
    interval_note,
    row_of,
    table_of,
)
from memlake.transforms.study.study import Comparison, Study

# At most so many series, and so many sums by slice and conversation, are held at a time.
_SERIES_AT_A_TIME = 256
_SUMS_AT_A_TIME = 4_000_000


def mean_rows(scores: CorpusScores, weights: Weights, *, seed: int) -> Iterator[dict[str, object]]:
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


def _ends(weights: Weights, sums: Floats, counts: Floats) -> tuple[Floats, Floats]:
    shape = sums.shape
    low, high = ratio_intervals(weights, sums.reshape(-1, shape[2]), counts.reshape(-1, shape[2]))
    return low.reshape(shape[:2]), high.reshape(shape[:2])


def statistics_of(scores: pa.Table, judgements: pa.Table, study: Study, *, run_id: str) -> pa.Table:
    """Rows of STATISTICS, in the order of their key; the same for the same rows in any order.

    A question's value is the mean over the repeats of its answer that were scored. What is not known is null, with a
    note that says why.

    Args:
        scores: rows of SCORES; those of other runs are passed over.
        judgements: rows of JUDGEMENTS, likewise.
        study: its comparisons, its repeats, and its seed, which every interval and test is drawn from.
    """
    # One thread, since how BLAS divides its work would show in the last digits.
    with threadpool_limits(1, user_api="blas"):
        rows = _rows(list(corpora_of(scores, run_id)), judgements, study, run_id=run_id)
        return table_of(row | {"run_id": run_id} for row in rows)


def differences_of(scores: pa.Table, comparisons: Sequence[Comparison], *, run_id: str, seed: int) -> pa.Table:
    """The rows of STATISTICS that comparisons have by themselves, each on every corpus of the scores."""
    with threadpool_limits(1, user_api="blas"):
        corpora = list(corpora_of(scores, run_id))
        declared = {scores.corpus: comparisons for scores in corpora}
        rows = comparison_rows(corpora, _weights(corpora, seed), declared, seed=seed)
        return table_of(row | {"run_id": run_id} for row in rows)


def _rows(
    corpora: list[CorpusScores], judgements: pa.Table, study: Study, *, run_id: str
) -> Iterator[dict[str, object]]:
    weights = _weights(corpora, study.seed)
    for scores in corpora:
        yield from mean_rows(scores, weights[scores.corpus], seed=study.seed)
        yield from repeat_rows(scores, judgements, study, run_id=run_id)
    declared = {
        scores.corpus: [comparison for comparison in study.comparisons if scores.corpus in study.corpora_of(comparison)]
        for scores in corpora
    }
    yield from comparison_rows(corpora, weights, declared, seed=study.seed)
    yield from agreement_rows(judgements, run_id=run_id, seed=study.seed, unlike=unlike_judges(study))


def _weights(corpora: Sequence[CorpusScores], seed: int) -> dict[str, Weights]:
    return {scores.corpus: cluster_weights(len(scores.conversations), seed) for scores in corpora}
