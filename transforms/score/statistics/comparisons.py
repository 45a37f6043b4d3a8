"""The study's comparisons: differences paired by question, their tests, and how one difference shifts against another.

The declared family is every comparison on every corpus on which both cells run, at its measure, over all questions: one
p a member. `p_holm` of the differences corrects the sign-flip p values, that of the mcnemar rows their own, each within
its test. Categories and shifts are looked at beside the family and are not corrected.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memlake.schemas.metrics import METRICS
from memlake.transforms.base.arrays import Bools, Floats
from memlake.transforms.score.statistics import resampling
from memlake.transforms.score.statistics.series import (
    MAJORITY,
    NO_CELL,
    NO_SCORES,
    NO_VARIANCE,
    NOTHING_DISCORDANT,
    ONE_CLUSTER,
    CorpusScores,
    Series,
    few_clusters,
    notes,
    row_of,
)
from memlake.transforms.study.study import Comparison, Measure

_OTHER_MEASURE = "other_measure: the two comparisons are not of the same measure"
_OTHER_CORPUS = "other_corpus: {} is of no corpus that {} is of, so nothing can be paired"


@dataclass(frozen=True)
class Pair:
    """Two cells on one corpus at one measure; NaN where a cell was not scored, or has no such score at all."""

    scores: CorpusScores
    measure: Measure
    a: str
    b: str
    categories: tuple[str, ...] = ()

    @cached_property
    def values_a(self) -> Floats:
        """The first cell's scores by question."""
        return self._values(self.a)

    @cached_property
    def values_b(self) -> Floats:
        """The second cell's scores by question."""
        return self._values(self.b)

    @property
    def differences(self) -> Floats:
        """The differences a - b by question, NaN unless both were scored."""
        return self.values_a - self.values_b

    @property
    def asked(self) -> Bools:
        """Questions that either cell was asked."""
        places = [place for cell in (self.a, self.b) if (place := self._place(cell)) is not None]
        asked = np.logical_or.reduce([self.scores.asked[place] for place in places] or [np.isfinite(self.values_a)])
        return np.asarray(asked & self._chosen, np.bool_)

    @cached_property
    def _chosen(self) -> Bools:
        """The questions of the comparison's categories, under its labels; all where it names none."""
        if not self.categories:
            return np.ones(len(self.scores.questions), np.bool_)
        names, of = self.scores.categories.get(self.measure.label_set, ([], np.full(len(self.scores.questions), -1)))
        return np.isin(of, [place for place, name in enumerate(names) if name in self.categories])

    @property
    def whole(self) -> bool:
        """Whether both cells have the measure's scores."""
        return None not in (self._place(self.a), self._place(self.b))

    @property
    def is_yes_or_no(self) -> bool:
        """Whether the measure's metric is 1 or 0 for one answer: what McNemar's test is for."""
        return self.measure.metric in METRICS and METRICS[self.measure.metric].yes_or_no

    def series(self, cell: str) -> Series:
        """The measure's scores of a cell."""
        at = self.measure
        return Series(cell, at.metric, at.cutoff_kind, at.cutoff, at.label_set, at.judge)

    def _place(self, cell: str) -> int | None:
        return self.scores.places.get(self.series(cell))

    def _values(self, cell: str) -> Floats:
        place = self._place(cell)
        if place is None:
            return np.full(len(self.scores.questions), np.nan)
        return np.where(self._chosen, self.scores.values[place], np.nan)


def comparison_rows(
    corpora: Sequence[CorpusScores],
    weights: Mapping[str, resampling.Weights],
    declared: Mapping[str, Sequence[Comparison]],
    *,
    seed: int,
) -> list[dict[str, object]]:
    """Rows difference, mcnemar and shift of every comparison, on each corpus, on each slice.

    Args:
        weights: by corpus, those of the means: everything on a corpus is resampled alike.
        declared: by corpus, the comparisons on it.
    """
    made: list[dict[str, object]] = []
    for scores in corpora:
        named = {comparison.name: comparison for comparison in declared[scores.corpus]}
        here = {
            name: Pair(scores, comparison.measure, comparison.a, comparison.b, comparison.categories)
            for name, comparison in named.items()
        }
        for name, pair in here.items():
            made += _difference_rows(name, pair, weights[scores.corpus], seed=seed)
            made += _mcnemar_rows(name, pair)
            if against := named[name].against:
                other = here.get(against)
                made += _shift_rows(name, pair, against, other, weights[scores.corpus], seed=seed)
    for statistic in ("difference", "mcnemar"):
        _correct([row for row in made if row["statistic"] == statistic and row["slice"] == "all"])
    return made


def _correct(family: list[dict[str, object]]) -> None:
    corrected = resampling.holm([row["p"] for row in family])  # type: ignore[misc]
    for row, value in zip(family, corrected, strict=True):
        row.update(row_of(**(row | {"p_holm": value})))


def _difference_rows(name: str, pair: Pair, weights: resampling.Weights, *, seed: int) -> Iterator[dict[str, object]]:
    for which, fields in _paired(pair.scores, pair.measure, pair.differences, pair.asked, weights, seed=seed):
        paired = np.isfinite(pair.differences) & which
        if pair.is_yes_or_no:
            only_a, only_b = _discordant(pair, paired)
            said = "" if _is_whole(pair, paired) else MAJORITY
            fields |= {"only_a": only_a, "only_b": only_b, "note": notes(str(fields["note"] or ""), said)}
        yield row_of(
            **_measured(pair)
            | fields
            | {
                "statistic": "difference",
                "comparison": name,
                "cell_b": pair.b,
                "excluded_a": np.sum(pair.asked & which & np.isnan(pair.values_a)),
                "excluded_b": np.sum(pair.asked & which & np.isnan(pair.values_b)),
                "note": fields["note"] if pair.whole else NO_CELL,
            }
        )


def _shift_rows(
    name: str, pair: Pair, against: str, other: Pair | None, weights: resampling.Weights, *, seed: int
) -> Iterator[dict[str, object]]:
    """How far this difference lies from another's, on the questions that all four cells scored."""
    common = {"statistic": "shift", "comparison": name, "cell_a": name, "cell_b": against}
    if other is None:
        yield row_of(**_measured(pair) | common | {"slice": "all", "note": _OTHER_CORPUS.format(against, name)})
        return
    shifts = pair.differences - other.differences
    asked = pair.asked | other.asked
    for mask, fields in _paired(pair.scores, pair.measure, shifts, asked, weights, seed=seed):
        which = mask & asked
        said = [] if other.measure == pair.measure else [_OTHER_MEASURE]
        yield row_of(
            **_measured(pair)
            | fields
            | common
            | {
                "excluded_a": np.sum(which & np.isnan(pair.differences)),
                "excluded_b": np.sum(which & np.isnan(other.differences)),
                "note": notes(str(fields["note"] or ""), *said) if pair.whole and other.whole else NO_CELL,
            }
        )


def _paired(
    scores: CorpusScores, measure: Measure, values: Floats, asked: Bools, weights: resampling.Weights, *, seed: int
) -> Iterator[tuple[Bools, dict[str, object]]]:
    """Mean, interval, p and detectable difference by slice, of values that are NaN where a question is not paired."""
    slices = scores.slices(measure.label_set)
    paired = np.isfinite(values)
    sums = scores.by_cluster(np.where(paired, values, 0.0)[None, :], slices)[0]
    counts = scores.by_cluster(paired[None, :], slices)[0]
    low, high = resampling.ratio_intervals(weights, sums, counts)
    for place, (name, mask) in enumerate(slices):
        n, clusters = int(counts[place].sum()), int(np.sum(counts[place] > 0))
        fields: dict[str, object] = {"slice": name, "n": n, "clusters": clusters, "note": NO_SCORES}
        if not n and name != "all" and not (asked & mask).any():
            continue
        if n:
            fields["value"] = sums[place].sum() / n
            fields["note"] = ONE_CLUSTER
        fields["method"] = resampling.bootstrap_method(seed)
        if clusters > 1:
            test = resampling.sign_flips(sums[place], seed=seed)
            fields |= {
                "low": low[place],
                "high": high[place],
                "p": test.p,
                "detectable": resampling.detectable(sums[place], counts[place]),
                "method": f"{resampling.bootstrap_method(seed)}; {test.method}",
                "note": notes(few_clusters(clusters, flips=test.flips), NO_VARIANCE if np.isnan(low[place]) else ""),
            }
        yield mask, fields


def _mcnemar_rows(name: str, pair: Pair) -> Iterator[dict[str, object]]:
    """McNemar's test of a yes-or-no metric; its value is the share of discordant ones that only cell_a has right."""
    if not pair.is_yes_or_no or not pair.whole:
        return
    both = np.isfinite(pair.differences)
    for slice_name, mask in pair.scores.slices(pair.measure.label_set):
        paired = both & mask
        if not paired.any():
            continue
        only_a, only_b = _discordant(pair, paired)
        test = resampling.mcnemar(only_a, only_b)
        yield row_of(
            **_measured(pair)
            | {
                "statistic": "mcnemar",
                "comparison": name,
                "cell_b": pair.b,
                "slice": slice_name,
                "n": paired.sum(),
                "excluded_a": np.sum(pair.asked & mask & np.isnan(pair.values_a)),
                "excluded_b": np.sum(pair.asked & mask & np.isnan(pair.values_b)),
                "clusters": len(np.unique(pair.scores.cluster_of[paired])),
                "value": test.share,
                "low": test.low,
                "high": test.high,
                "only_a": only_a,
                "only_b": only_b,
                "p": test.p,
                "method": "McNemar exact, two-sided, on discordant questions taken as independent; Clopper-Pearson interval",
                "note": notes(
                    "" if _is_whole(pair, paired) else MAJORITY, "" if only_a + only_b else NOTHING_DISCORDANT
                ),
            }
        )


def _discordant(pair: Pair, paired: Bools) -> tuple[int, int]:
    right_a, right_b = pair.values_a[paired] > 0.5, pair.values_b[paired] > 0.5
    return int(np.sum(right_a & ~right_b)), int(np.sum(right_b & ~right_a))


def _is_whole(pair: Pair, paired: Bools) -> bool:
    """Whether each question is wholly right or wholly wrong in both cells, so that no majority of repeats decides."""
    return bool(np.isin([pair.values_a[paired], pair.values_b[paired]], (0, 1)).all())


def _measured(pair: Pair) -> dict[str, object]:
    return {"corpus": pair.scores.corpus, **pair.series(pair.a).columns}
