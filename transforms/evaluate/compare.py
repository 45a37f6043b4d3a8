"""Compare: two runs' cells, paired by question, whatever snapshot, version or embedder each was made with."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import SCORES
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.evaluate.means import CellKey, Settings, cell_settings
from memlake.transforms.evaluate.runs import StudyRun, find_run, runs_of
from memlake.transforms.lake.query.connect import bare_connection, connect
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.score.statistics.statistics import differences_of
from memlake.transforms.study.study import Comparison, Measure

Pair = tuple[str, str]  # a cell of either side
_RUN, _SEED = "compare", 7
_QUESTION = ("corpus", "question_id", "label_set")
_MEASURE = ("metric", "cutoff_kind", "cutoff", "label_set", "judge")
_SHOWN = (
    "corpus", *_MEASURE, "statistic", "n", "excluded_a", "excluded_b", "clusters", "value", "low", "high",
    "only_a", "only_b", "p", "method", "note",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a run, and one of its cells or all of them (cell '')."""

    run_id: str
    cell: str
    read_snapshot_id: str


def compare_runs(uri: str, at: str, a: str, b: str, *, metric: str | None = None) -> dict[str, object]:
    """The paired differences a - b; the document of `memlake study compare --json`.

    Args:
        a, b: RUN, or RUN/CELL. Two cells are compared with each other; else each cell with the one of its name.
        metric: only this one; else every one that both sides have.

    Raises:
        NotFoundError: no such lake, snapshot, run, cell or metric.
        UsageError: the two have no cell in common to compare.
    """
    runs = runs_of(uri, at)
    sides = [_side(runs, text) for text in (a, b)]
    lake = open_lake(uri)
    with connect(lake, at) as connection:
        scores = [_scores(connection, side) for side in sides]
        cells = [cell_settings(connection, side.run_id) for side in sides]
    changed = _changed(lake, sides)
    scores = _in_common([_without(rows, changed) for rows in scores])
    pairs = _pairs(sides, scores)
    measures = _measures(scores, metric)
    return {
        **{
            name: {"run_id": side.run_id, "cell": side.cell or None, "read_snapshot_id": side.read_snapshot_id}
            for name, side in zip(("a", "b"), sides, strict=True)
        },
        "changed_questions": changed.num_rows,
        "settings": [_settings_that_differ(pair, cells) for pair in pairs],
        "differences": [row for pair in pairs for row in _differences(pair, scores, measures)],
    }


def _side(runs: Sequence[StudyRun], text: str) -> Side:
    run_id, _, cell = text.partition("/")
    run = find_run(runs, run_id)
    if cell and cell not in run.cells:
        raise NotFoundError(
            f"cell={cell!r} is none of run={run_id!r}: {', '.join(run.cells)}", hint=f"memlake study show {run_id}"
        )
    return Side(run_id, cell, run.read_snapshot_id)


def _scores(connection: duckdb.DuckDBPyConnection, side: Side) -> pa.Table:
    return connection.sql(_SCORES, params=astuple(side)[:2]).to_arrow_table().cast(SCORES.schema)


def _changed(lake: Lake, sides: Sequence[Side]) -> pa.Table:
    """Questions (corpus, question_id, label_set) that read or are answered otherwise in the snapshots that the two read."""
    columns = [*_QUESTION, "text", "answer", "answers"]
    with bare_connection() as connection:
        for name, side in zip(("before", "after"), sides, strict=True):
            connection.register(name, lake.snapshot(side.read_snapshot_id).read("questions", columns=columns))
        return connection.sql(_REWORDED).to_arrow_table()


def _settings_that_differ(pair: Pair, cells: Sequence[Mapping[CellKey, Settings]]) -> dict[str, object]:
    """A pair of cells with each setting that is not the same on both sides, as (a, b)."""
    a, b = (
        next(settings for (_, cell), settings in side.items() if cell == name)
        for name, side in zip(pair, cells, strict=True)
    )
    keys = [key for key in {**a, **b} if key != "corpus" and a.get(key) != b.get(key)]
    return {"cell_a": pair[0], "cell_b": pair[1], "differ": {key: [a.get(key), b.get(key)] for key in keys}}


def _in_common(scores: Sequence[pa.Table]) -> list[pa.Table]:
    """The scores of the corpora that both sides asked.

    Raises:
        UsageError: there is none.
    """
    asked = [set(pc.unique(rows["corpus"]).to_pylist()) for rows in scores]
    both = sorted(asked[0] & asked[1])
    if not both:
        names = " against ".join(", ".join(sorted(corpora)) or "none" for corpora in asked)
        raise UsageError(f"the two have no corpus in common: {names}", hint="memlake study ls")
    return [rows.filter(pc.is_in(rows["corpus"], value_set=pa.array(both))) for rows in scores]


def _without(rows: pa.Table, changed: pa.Table) -> pa.Table:
    return rows.join(changed, list(_QUESTION), join_type="left anti").cast(SCORES.schema) if changed.num_rows else rows


def _pairs(sides: Sequence[Side], scores: Sequence[pa.Table]) -> list[Pair]:
    if sides[0].cell and sides[1].cell:
        return [(sides[0].cell, sides[1].cell)]
    there = [dict.fromkeys(pc.unique(rows["cell"]).to_pylist()) for rows in scores]
    both = [(cell, cell) for cell in there[0] if cell in there[1]]
    if not both:
        raise UsageError(
            f"the two have no cell in common: {', '.join(there[0])} against {', '.join(there[1])}",
            hint="memlake study compare RUN/CELL RUN/CELL",
        )
    return both


def _measures(scores: Sequence[pa.Table], metric: str | None) -> list[Measure]:
    """What both sides measured, in a fixed order."""
    found = [
        set(zip(*(pc.cast(rows[n], rows.schema.field(n).type).to_pylist() for n in _MEASURE), strict=True))
        for rows in scores
    ]
    common = [Measure(*key) for key in sorted(found[0] & found[1])]
    chosen = [measure for measure in common if metric in (None, measure.metric)]
    if not chosen:
        both_have = ", ".join(dict.fromkeys(measure.metric for measure in common)) or "none"
        raise NotFoundError(
            f"metric={metric!r} is not in both runs: both have {both_have}", hint="memlake study show RUN"
        )
    return chosen


def _differences(pair: Pair, scores: Sequence[pa.Table], measures: Sequence[Measure]) -> list[dict[str, Any]]:
    """The differences of one pair of cells, by the same functions as within one run."""
    both = pa.concat_tables(_renamed(*given) for given in zip(scores, pair, ("a", "b"), strict=True))
    # Not checked as a file's are: a lake may hold scores of a metric that another version had.
    comparisons = [
        Comparison.model_construct(name=str(place), a="a", b="b", **measure.said())
        for place, measure in enumerate(measures)
    ]
    return [
        {"cell_a": pair[0], "cell_b": pair[1], **{name: row[name] for name in _SHOWN}}
        for row in differences_of(both, comparisons, run_id=_RUN, seed=_SEED).to_pylist()
        if row["slice"] == "all"
    ]


def _renamed(rows: pa.Table, cell: str, name: str) -> pa.Table:
    """A cell's scores as those of one run that had both cells."""
    chosen = rows.filter(pc.equal(rows["cell"], cell))
    for column, value in (("run_id", _RUN), ("cell", name)):
        field = SCORES.schema.field(column)
        chosen = chosen.set_column(chosen.schema.get_field_index(column), field, pa.repeat(value, chosen.num_rows))
    return chosen


_REWORDED = """
select before.corpus, before.question_id, before.label_set
from before
inner join after
    on before.corpus = after.corpus
    and before.question_id = after.question_id
    and before.label_set = after.label_set
where
    before.text != after.text
    or before.answer is distinct from after.answer
    or before.answers is distinct from after.answers
"""
_SCORES = "select * from scores where run_id = $1 and ($2 = '' or cell = $2)"
