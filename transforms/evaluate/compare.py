"""Compare: two runs' cells, paired by question, whatever snapshot, version or embedder each was made with."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import JUDGEMENTS, SCORES
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.evaluate.runs import CELLS, Row, find_run, runs_of
from memlake.transforms.lake.query.connect import bare_connection, connect
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.retrieve.plan import find_plan
from memlake.transforms.retrieve.steps.search import Cutoffs
from memlake.transforms.score.statistics.statistics import statistics_of
from memlake.transforms.study.study import Comparison, Measure, Study, StudyCell, StudyCorpus

_RUN = "compare"
_QUESTION = ("corpus", "question_id", "label_set")
_MEASURE = ("metric", "cutoff_kind", "cutoff", "label_set", "judge")


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
        scores = [
            _scores(connection.sql(_SCORES, params={"run_id": side.run_id}).to_arrow_table(), side) for side in sides
        ]
        cells = [connection.execute(f"{CELLS} order by corpus", {"run_id": side.run_id}).fetchall() for side in sides]
    changed = _changed(lake, sides)
    scores = _in_common([_without(rows, changed) for rows in scores])
    pairs = _pairs(sides, scores)
    measures = _measures(scores, metric)
    rows: list[Row] = []
    for cell_a, cell_b in pairs:
        rows += _differences(cell_a, cell_b, scores, measures)
    return {
        **{
            name: {"run_id": side.run_id, "cell": side.cell or None, "read_snapshot_id": side.read_snapshot_id}
            for name, side in zip(("a", "b"), sides, strict=True)
        },
        "changed_questions": changed.num_rows,
        "settings": [_settings_that_differ(pair, cells) for pair in pairs],
        "differences": rows,
    }


def _side(runs: Sequence[Row], text: str) -> Side:
    run_id, _, cell = text.partition("/")
    run = find_run(runs, run_id)
    cells = run["cells"].split(", ")
    if cell and cell not in cells:
        raise NotFoundError(
            f"cell={cell!r} is none of run={run_id!r}: {', '.join(cells)}", hint=f"memlake study show {run_id}"
        )
    return Side(run_id, cell, run["read_snapshot_id"])


def _changed(lake: Lake, sides: Sequence[Side]) -> pa.Table:
    """Questions (corpus, question_id, label_set) that read or are answered otherwise in the snapshots that the two read."""
    first, second = (lake.snapshot(side.read_snapshot_id) for side in sides)
    tables = [one.read("questions", columns=[*_QUESTION, "text", "answer", "answers"]) for one in (first, second)]
    with bare_connection() as connection:
        for name, table in zip(("before", "after"), tables, strict=True):
            connection.register(name, table)
        return connection.sql(_REWORDED).to_arrow_table()


def _settings_that_differ(pair: tuple[str, str], cells: Sequence[Sequence[tuple[str, str, str]]]) -> Row:
    """A pair of cells with each setting that is not the same on both sides, as (a, b)."""
    held = [
        next(json.loads(settings) for cell, _, settings in side if cell == name)
        for name, side in zip(pair, cells, strict=True)
    ]
    keys = [key for key in {**held[0], **held[1]} if key != "corpus" and held[0].get(key) != held[1].get(key)]
    return {
        "cell_a": pair[0],
        "cell_b": pair[1],
        "differ": {key: [one.get(key) for one in held] for key in keys},
    }


def _in_common(scores: Sequence[pa.Table]) -> list[pa.Table]:
    """The scores of the corpora that both sides asked.

    Raises:
        UsageError: there is none.
    """
    asked = [set(pc.unique(rows["corpus"]).to_pylist()) for rows in scores]
    both = sorted(asked[0] & asked[1])
    if not both:
        names = " against ".join(", ".join(sorted(one)) or "none" for one in asked)
        raise UsageError(f"the two have no corpus in common: {names}", hint="memlake study ls")
    return [rows.filter(pc.is_in(rows["corpus"], value_set=pa.array(both))) for rows in scores]


def _without(rows: pa.Table, changed: pa.Table) -> pa.Table:
    return rows.join(changed, list(_QUESTION), join_type="left anti").cast(SCORES.schema) if changed.num_rows else rows


def _scores(rows: pa.Table, side: Side) -> pa.Table:
    rows = rows.cast(SCORES.schema)
    return rows.filter(pc.equal(rows["cell"], side.cell)) if side.cell else rows


def _pairs(sides: Sequence[Side], scores: Sequence[pa.Table]) -> list[tuple[str, str]]:
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
    common = sorted(found[0] & found[1])
    chosen = [Measure(*one) for one in common if metric in (None, one[0])]
    if not chosen:
        raise NotFoundError(
            f"metric={metric!r} is not in both runs: both have {', '.join(dict.fromkeys(one[0] for one in common)) or 'none'}",
            hint="memlake study show RUN",
        )
    return chosen


def _differences(cell_a: str, cell_b: str, scores: Sequence[pa.Table], measures: Sequence[Measure]) -> list[Row]:
    """The differences of one pair of cells, by the same functions as within one run."""
    named = [_renamed(rows, cell, side) for rows, cell, side in zip(scores, (cell_a, cell_b), ("a", "b"), strict=True)]
    both = pa.concat_tables(named)
    corpora = tuple(StudyCorpus(name) for name in sorted(pc.unique(both["corpus"]).to_pylist()))
    plan = find_plan("lexical")  # neither searched nor named: a study's cell has one
    study = Study(
        name="compare",
        corpora=corpora,
        cells=(StudyCell("a", ("a",), plan), StudyCell("b", ("b",), plan)),
        cutoffs=Cutoffs(),
        headline=measures[0],
        comparisons=tuple(Comparison(str(place), "a", "b", one) for place, one in enumerate(measures)),
    )
    made = statistics_of(both, JUDGEMENTS.empty(), study, run_id=_RUN).to_pylist()
    kept = [row for row in made if row["statistic"] in ("difference", "mcnemar") and row["slice"] == "all"]
    return [
        {
            "cell_a": cell_a,
            "cell_b": cell_b,
            **{
                name: row[name]
                for name in (
                    "corpus", *_MEASURE, "statistic", "n", "excluded_a", "excluded_b", "clusters", "value", "low", "high",
                    "only_a", "only_b", "p", "method", "note",
                )
            },
        }
        for row in kept
    ]  # fmt: skip


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
_SCORES = "select * from scores where run_id = $run_id"
