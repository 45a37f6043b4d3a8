"""How far judges agree, and how often one changes its mind: Cohen's kappa, flips; and the spread of cells that are repeats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Bools, Floats, Ints
from memlake.transforms.score.statistics.resampling import (
    Weights,
    bootstrap_method,
    cluster_weights,
    ratio_intervals,
    resampled,
)
from memlake.transforms.score.statistics.series import (
    MAJORITY,
    NO_SCORES,
    ONE_CLUSTER,
    CorpusScores,
    Series,
    codes_of,
    few_clusters,
    interval_note,
    notes,
    row_of,
)
from memlake.transforms.score.statistics.variance import Grid, component_rows, spread_row, stacked
from memlake.transforms.study.study import Study

_ANSWER = ["cell", "cutoff_kind", "cutoff", "label_set", "question_id", "repeat", "conversation_id"]
_GROUP = ["cell", "cutoff_kind", "cutoff", "label_set"]
_VERDICT = "judge_accuracy"
_NO_KAPPA = "no_variance: a judge gives every answer the same verdict, so chance agreement is all there is"
_SAME = "no_variance: every resample has the same kappa"


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of one corpus on its answers.

    Attributes:
        groups: of cell, cutoff and label set, with the answers that are of it; the cell '' is all cells together.
        cluster_of: by answer, its place among the conversations.
        right, given: shape (judges, answers): verdicts for the answer, and verdicts at all.
    """

    judges: list[str]
    groups: list[tuple[tuple[str, str, int, str], Bools]]
    clusters: int
    cluster_of: Ints
    right: Floats
    given: Floats


def unlike_judges(study: Study) -> frozenset[str]:
    """The judges whose verdict is on another question than whether an answer is right: whether it abstains as it should."""
    return frozenset(judge.name for judge in study.judges if judge.kind == "abstention")


def agreement_rows(
    judgements: pa.Table, *, run_id: str, seed: int, unlike: frozenset[str] = frozenset()
) -> Iterator[dict[str, object]]:
    """Rows kappa and flip_rate, for each cell and for all cells of a corpus together.

    Args:
        unlike: judges that are compared with no other; see `unlike_judges`.
    """
    rows = judgements.filter(pc.field("run_id") == run_id)
    for corpus in sorted(pc.unique(rows["corpus"]).to_pylist()):
        verdicts = _verdicts(rows.filter(pc.field("corpus") == corpus))
        weights = cluster_weights(verdicts.clusters, seed)
        for (cell, kind, cutoff, label_set), mask in verdicts.groups:
            series = Series(cell, _VERDICT, kind, cutoff, label_set, judge="")
            common = {"corpus": corpus, "slice": "all", **series.columns}
            alike = [place for place, name in enumerate(verdicts.judges) if name not in unlike]
            for pair in combinations(alike, 2):
                yield from _kappa_row(verdicts, pair, mask, weights, seed=seed, common=common)
            for judge in range(len(verdicts.judges)):
                yield from _flip_row(verdicts, judge, mask, weights, seed=seed, common=common)


def _verdicts(rows: pa.Table) -> Verdicts:
    counted = rows.append_column("right", pc.cast(rows["correct"], pa.int64())).group_by([*_ANSWER, "judge"])
    sums = counted.aggregate([("right", "sum"), ("right", "count")])
    sums = sums.sort_by([(name, "ascending") for name in [*_ANSWER, "judge"]])
    judge_of, judges = codes_of(sums["judge"])
    answer_of, answers = _numbered(sums, _ANSWER)
    shape = (len(judges), len(answers))
    right, given = np.zeros(shape), np.zeros(shape)
    right[judge_of, answer_of] = pc.fill_null(sums["right_sum"], 0).to_numpy()
    given[judge_of, answer_of] = sums["right_count"].to_numpy()
    cluster_of, conversations = codes_of(answers["conversation_id"])
    group_of, groups = _numbered(answers, _GROUP)
    masks = [(tuple(row.values()), group_of == place) for place, row in enumerate(groups.select(_GROUP).to_pylist())]
    together_of, together = _numbered(answers, _GROUP[1:])
    for place, row in enumerate(together.select(_GROUP[1:]).to_pylist()):
        masks.append((("", *row.values()), together_of == place))
    return Verdicts(judges, masks, len(conversations), cluster_of, right, given)


def _numbered(table: pa.Table, columns: list[str]) -> tuple[Ints, pa.Table]:
    """Each row's place among the distinct values of some columns, and a first row of each, in order."""
    combined = np.zeros(table.num_rows, np.int64)
    for name in columns:
        codes, values = codes_of(table[name])
        # Ranked anew each time, or many columns would overflow.
        combined = np.unique(combined * max(len(values), 1) + codes, return_inverse=True)[1].astype(np.int64)
    _, first = np.unique(combined, return_index=True)
    return combined, table.take(pa.array(first))


def _kappa_row(
    verdicts: Verdicts, pair: tuple[int, int], mask: Bools, weights: Weights, *, seed: int, common: dict[str, object]
) -> Iterator[dict[str, object]]:
    by_first, by_second = (mask & (verdicts.given[judge] > 0) for judge in pair)
    if not by_first.any() or not by_second.any():
        return
    both = by_first & by_second
    first, second = (2 * verdicts.right[judge] > verdicts.given[judge] for judge in pair)
    kinds = [first & second, first & ~second, ~first & second, ~first & ~second]
    counts = np.stack([_by_cluster(verdicts, kind & both) for kind in kinds])
    value = float(kappa(counts.sum(axis=1)[:, None])[0])
    clusters = int(np.sum(counts.sum(axis=0) > 0))
    low, high = resampled(weights, counts, kappa) if clusters > 1 and np.isfinite(value) else (np.nan, np.nan)
    said = [{0: NO_SCORES, 1: ONE_CLUSTER}.get(clusters) or few_clusters(clusters)]
    if clusters and not np.isfinite(value):
        said.append(_NO_KAPPA)
    elif low == high:
        low, high = np.nan, np.nan
        said.append(_SAME)
    if not all(_is_unanimous(verdicts, judge, both) for judge in pair):
        said.append(MAJORITY)
    yield row_of(
        **common
        | {
            "statistic": "kappa",
            "judge": "|".join(verdicts.judges[judge] for judge in pair),
            "n": both.sum(),
            "excluded_a": np.sum(by_second & ~by_first),
            "excluded_b": np.sum(by_first & ~by_second),
            "clusters": clusters,
            "value": value,
            "low": low,
            "high": high,
            "only_a": counts[1].sum(),
            "only_b": counts[2].sum(),
            "method": f"Cohen's kappa; {bootstrap_method(seed)}",
            "note": notes(*said),
        }
    )


def kappa(counts: Floats) -> Floats:
    """Cohen's kappa of verdicts counted as (both right, only the first, only the second, neither); NaN where undefined.

    Cohen, A Coefficient of Agreement for Nominal Scales, 1960: (observed - by chance) / (1 - by chance).

    Args:
        counts: shape (4, columns).
    """
    both, first, second, neither = counts
    n = both + first + second + neither
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (both + neither) / n
        chance = ((both + first) * (both + second) + (neither + first) * (neither + second)) / n**2
        found: Floats = np.where(1 - chance > 1e-12, (observed - chance) / (1 - chance), np.nan)
    return found


def _flip_row(
    verdicts: Verdicts, judge: int, mask: Bools, weights: Weights, *, seed: int, common: dict[str, object]
) -> Iterator[dict[str, object]]:
    """Of two verdicts of a judge on the same answer, the chance that they differ, averaged over answers."""
    given, right = verdicts.given[judge], verdicts.right[judge]
    again = mask & (given > 1)
    if not again.any():
        return
    pairs = np.where(again, given * (given - 1), 1.0)
    differ = np.where(again, 2 * right * (given - right) / pairs, 0.0)
    sums, counts = _by_cluster(verdicts, differ), _by_cluster(verdicts, again)
    low, high = (float(end[0]) for end in ratio_intervals(weights, sums[None, :], counts[None, :]))
    clusters = int(np.sum(counts > 0))
    yield row_of(
        **common
        | {
            "statistic": "flip_rate",
            "judge": verdicts.judges[judge],
            "n": again.sum(),
            "excluded_a": np.sum(mask & (given == 1)),
            "clusters": clusters,
            "value": sums.sum() / counts.sum(),
            "low": low,
            "high": high,
            "method": f"share of pairs of repeats that differ, mean over answers; {bootstrap_method(seed)}",
            "note": interval_note(clusters, low),
        }
    )


def _is_unanimous(verdicts: Verdicts, judge: int, mask: Bools) -> bool:
    right, given = verdicts.right[judge, mask], verdicts.given[judge, mask]
    return bool(np.all((right == 0) | (right == given)))


def _by_cluster(verdicts: Verdicts, numbers: Floats | Bools) -> Floats:
    summed = np.bincount(verdicts.cluster_of, weights=numbers.astype(np.float64), minlength=verdicts.clusters)
    return summed.astype(np.float64)


class _Judged(NamedTuple):
    """Verdicts of one corpus by series, over one list of questions."""

    cluster_of: Ints
    grids: Mapping[Series, Floats]


def repeat_rows(
    scores: CorpusScores, judgements: pa.Table, study: Study, *, run_id: str
) -> Iterator[dict[str, object]]:
    """Spread between repeats and variance components, of single cells and of the study's groups of repeated extractions.

    Verdicts are decomposed one by one; the other metrics as they were scored, where judges have no part.
    """
    rows = judgements.filter((pc.field("run_id") == run_id) & (pc.field("corpus") == scores.corpus))
    judged = _judged(rows)
    common: dict[str, object] = {"corpus": scores.corpus}
    for place in sorted(scores.repeated):
        grid = Grid(common | scores.series[place].columns, scores.cluster_of, _scored(scores, place))
        yield from spread_row(grid, "reader")
        if scores.series[place] not in judged.grids:
            yield from component_rows(grid)
    for series, values in judged.grids.items():
        grid = Grid(common | series.columns, judged.cluster_of, values)
        yield from spread_row(grid, "judge")
        yield from component_rows(grid)
    here = {cell.name for cell in study.cells_of(scores.corpus)}
    for group in study.repeats:
        if here.issuperset(group.cells):
            yield from _extraction_rows(scores, judged, group.cells, common)


def _extraction_rows(
    scores: CorpusScores, judged: _Judged, cells: tuple[str, ...], common: dict[str, object]
) -> Iterator[dict[str, object]]:
    joined = "|".join(cells)
    for first in [series for series in scores.series if series.cell == cells[0]]:
        alike = [first._replace(cell=cell) for cell in cells]
        if not all(series in scores.places for series in alike):
            continue
        columns = common | first.columns | {"cell_a": joined}
        values = stacked([_scored(scores, scores.places[series]) for series in alike])
        grid = Grid(columns, scores.cluster_of, values)
        yield from spread_row(grid, "extraction")
        if all(series in judged.grids for series in alike):
            grid = Grid(columns, judged.cluster_of, stacked([judged.grids[series] for series in alike]))
        yield from component_rows(grid)


def _scored(scores: CorpusScores, place: int) -> Floats:
    """A series as a grid of one extraction and no judge repeats."""
    matrix = scores.repeated.get(place, scores.values[place][None, :])
    return matrix.T[:, None, :, None]


def _judged(rows: pa.Table) -> _Judged:
    question_of, questions = codes_of(rows["question_id"])
    conversation_of, _ = codes_of(rows["conversation_id"])
    cluster_of = np.zeros(len(questions), np.int64)
    cluster_of[question_of] = conversation_of
    verdict = pc.cast(rows["correct"], pa.float64()).to_numpy()
    keys = list(zip(*(rows[name].to_pylist() for name in Series._fields if name != "metric"), strict=True))
    members: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(keys):
        members.setdefault(key, []).append(place)
    grids = {}
    for key in sorted(members):
        here = np.array(members[key])
        repeats, repeat_of = np.unique(rows["repeat"].to_numpy()[here], return_inverse=True)
        again, again_of = np.unique(rows["judge_repeat"].to_numpy()[here], return_inverse=True)
        values = np.full((len(questions), 1, len(repeats), len(again)), np.nan)
        values[question_of[here], 0, repeat_of, again_of] = verdict[here]
        grids[Series(key[0], _VERDICT, *key[1:])] = values  # type: ignore[arg-type]
    return _Judged(cluster_of, grids)
