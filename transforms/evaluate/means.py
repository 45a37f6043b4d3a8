"""A run's means, and published numbers beside those that mean the same."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import duckdb
import pyarrow.compute as pc

from memlake.transforms.base.errors import UsageError
from memlake.transforms.evaluate.corpus import cell_rows
from memlake.transforms.evaluate.runs import StudyRun, find_run, runs_of
from memlake.transforms.evaluate.stages import EMPTY_CONTEXTS
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.score.scores import summary
from memlake.transforms.study.parse import find_study, study_names
from memlake.transforms.study.study import Measure, PublishedNumber, Study

Mean = dict[str, Any]  # a row of the view score_means
Settings = dict[str, Any]  # of a cell, as `cells` holds them
CellKey = tuple[str, str]  # corpus and cell

_CELLS = "select corpus, cell, settings from cells where run_id = $run_id order by corpus"
# What was asked stands in the journal of runs, which nothing takes rows out of.
_QUESTIONS = """
select
    coalesce(
        (select max(cast(counters ->> 'questions' as bigint)) from runs where run_id = $run_id),
        count(distinct (corpus, question_id))
    ),
    count(distinct (corpus, question_id))
from scores
where run_id = $run_id
"""


class Means(TypedDict):
    """The document of `memlake study show --json`.

    Attributes:
        questions: how many the run asked.
        forgotten: how many of them this snapshot no longer has scores of, since their conversations were forgotten.
        empty_contexts: cells and token budgets at which contexts show nothing.
    """

    run_id: str
    study: str
    corpora: list[str]
    questions: int
    forgotten: int
    means: list[Mean]
    published: list[dict[str, object]]
    empty_contexts: list[dict[str, Any]]


def means(uri: str, at: str, run_id: str | None, *, by: str | None = None) -> Means:
    """Every mean of a run, of all questions or by category, and published numbers beside ours.

    Raises:
        NotFoundError: the lake holds no such run, or none at all.
        UsageError: `by` is something else than 'category'.
    """
    if by not in (None, "category"):
        raise UsageError(f"by={by!r} is not allowed; allowed: category", hint="memlake study show RUN --by category")
    run = find_run(runs_of(uri, at), run_id)
    this_run = {"run_id": run.run_id}
    with connect(open_lake(uri), at) as connection:
        found = summary(connection, run.run_id)
        cells = cell_settings(connection, run.run_id)
        asked, scored = connection.execute(_QUESTIONS, this_run).fetchall()[0]
        empty = connection.sql(EMPTY_CONTEXTS, params=this_run).to_arrow_table().to_pylist()
    overall = pc.is_null(found["category"])
    rows = found.filter(pc.invert(overall) if by else overall).to_pylist(maps_as_pydicts="strict")
    rows.sort(key=lambda row: run.cells.index(row["cell"]))
    return Means(
        run_id=run.run_id,
        study=run.study,
        corpora=list(run.corpora),
        questions=asked,
        forgotten=asked - scored,
        means=rows,
        published=[] if by else list(_published(run, cells, rows)),
        empty_contexts=empty,
    )


def cell_settings(connection: duckdb.DuckDBPyConnection, run_id: str) -> dict[CellKey, Settings]:
    """The settings of each cell of a run on each corpus."""
    rows = connection.execute(_CELLS, {"run_id": run_id}).fetchall()
    return {(corpus, cell): json.loads(settings) for corpus, cell, settings in rows}


def same_cells(study: Study, cells: Mapping[CellKey, Settings]) -> set[CellKey]:
    """Of a run's cells those that a study declares with the same settings.

    What a study leaves to the run is any run's: whose server answers, and which model where the study names none.
    """
    declared = {
        (row["corpus"], row["cell"]): json.loads(row["settings"])
        for corpus in study.corpora
        for row in cell_rows(study, corpus, run_id="", read_snapshot_id="").to_pylist()
    }
    return {key for key, held in cells.items() if key in declared and _is_same(declared[key], held)}


def _is_same(declared: Settings, held: Settings) -> bool:
    own, ran = declared["reader"], held.get("reader")  # runs of before there were readers do not name one
    if own and ran:
        ran = ran | {name: own[name] for name in ("provider", "model") if name in own and not own[name]}
    return declared == held | {"reader": ran}


def mean_of(rows: Sequence[Mean], corpus: str, cell: str, at: Measure, category: str | None = None) -> Mean | None:
    """The mean of a cell's measure on a corpus, of all questions or of a category; None where it was not measured."""
    key = (corpus, cell, at.metric, at.cutoff_kind, at.cutoff, at.label_set, at.judge, category)
    names = ("corpus", "cell", "metric", "cutoff_kind", "cutoff", "label_set", "judge", "category")
    return next((row for row in rows if tuple(row[name] for name in names) == key), None)


def _published(run: StudyRun, cells: Mapping[CellKey, Settings], rows: Sequence[Mean]) -> Iterator[dict[str, object]]:
    """Published numbers of the study that comes with memlake beside ours: of cells with its settings, as many questions."""
    if run.study not in study_names():
        return
    study = find_study(run.study)
    same = same_cells(study, cells)
    for number in study.published:
        corpus = number.corpus or study.corpora[0].name
        row = mean_of(rows, corpus, number.cell, number.measure) if (corpus, number.cell) in same else None
        if row and row["n"] + row["excluded"] == number.n and row["mean"] is not None:
            yield _beside(number, row["mean"])


def _beside(number: PublishedNumber, ours: float) -> dict[str, object]:
    at = number.measure
    return {
        "cell": number.cell,
        "metric": at.metric,
        "cutoff": f"{at.cutoff} {at.cutoff_kind}",
        "label_set": at.label_set,
        "n": number.n,
        "published": number.value,
        "ours": ours,
        "difference": ours - number.value,
        "source": number.source,
    }
