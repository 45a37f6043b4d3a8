"""What repeating a step changes: rows sd_STEP and var_STEP for the repeats that a run has."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Floats, Ints
from memlake.transforms.score.statistics.series import CorpusScores, Series, codes_of
from memlake.transforms.score.statistics.variance import Grid, component_rows, spread_row, stacked
from memlake.transforms.study.study import Study

_VERDICT = "judge_accuracy"


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
    common: dict[str, object] = {"run_id": run_id, "corpus": scores.corpus}
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
