"""What the scores of a run say: means with intervals, the study's comparisons with tests, agreement of judges, spread."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from threadpoolctl import threadpool_limits

from memlake.transforms.score.statistics.agreement import agreement_rows, unlike_judges
from memlake.transforms.score.statistics.comparisons import comparison_rows, corpora_of_comparison
from memlake.transforms.score.statistics.means import mean_rows
from memlake.transforms.score.statistics.repeats import repeat_rows
from memlake.transforms.score.statistics.resampling import Weights, cluster_weights
from memlake.transforms.score.statistics.rows import table_of
from memlake.transforms.score.statistics.series import CorpusScores, corpora_of
from memlake.transforms.study.study import Comparison, Study


def statistics_of(scores: pa.Table, judgements: pa.Table, study: Study, *, run_id: str) -> pa.Table:
    """Rows of STATISTICS, in the order of their key; the same for the same rows in any order.

    A question's value is the mean over the repeats of its answer that were scored. What cannot be told is null, with a
    note that says why.

    Args:
        scores: rows of SCORES; those of other runs are passed over.
        judgements: rows of JUDGEMENTS, likewise.
        study: its comparisons, its repeats, and its seed, which every interval and test is drawn from.
    """
    # One thread, since how BLAS divides its work would show in the last digits.
    with threadpool_limits(1, user_api="blas"):
        return table_of(_rows(list(corpora_of(scores, run_id)), judgements, study, run_id=run_id))


def differences_of(scores: pa.Table, comparisons: Sequence[Comparison], *, run_id: str, seed: int) -> pa.Table:
    """The rows of STATISTICS that comparisons have by themselves, each on every corpus of the scores."""
    with threadpool_limits(1, user_api="blas"):
        corpora = list(corpora_of(scores, run_id))
        declared = {scores.corpus: comparisons for scores in corpora}
        return table_of(comparison_rows(corpora, _weights(corpora, seed), declared, run_id=run_id, seed=seed))


def _rows(
    corpora: list[CorpusScores], judgements: pa.Table, study: Study, *, run_id: str
) -> Iterator[dict[str, object]]:
    weights = _weights(corpora, study.seed)
    for scores in corpora:
        yield from mean_rows(scores, weights[scores.corpus], run_id=run_id, seed=study.seed)
        yield from repeat_rows(scores, judgements, study, run_id=run_id)
    declared = {
        scores.corpus: [one for one in study.comparisons if scores.corpus in corpora_of_comparison(study, one)]
        for scores in corpora
    }
    yield from comparison_rows(corpora, weights, declared, run_id=run_id, seed=study.seed)
    yield from agreement_rows(judgements, run_id=run_id, seed=study.seed, unlike=unlike_judges(study))


def _weights(corpora: Sequence[CorpusScores], seed: int) -> dict[str, Weights]:
    return {scores.corpus: cluster_weights(len(scores.conversations), seed) for scores in corpora}
