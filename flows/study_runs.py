"""Studies that come with memlake, runs that a lake holds, and a run's means laid out for reading."""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from flows.study import find_study, study_names
from transforms.errors import NotFoundError, UsageError
from transforms.lake.connect import connect
from transforms.lake.lake import open_lake
from transforms.retrieve.study import Published, cell_rows
from transforms.score.evaluate import summary

Row = dict[str, Any]

# The headline first: recall of a summary is generous by construction, survival is not.
TITLES = {
    "answer_survival_all": "Answers of which every word is in the context",
    "evidence_recall_fraction": "Gold turns that the context touches",
    "store_survival_all": "Answers of which every word is still in the store",
}
_LAST = ("n", "excluded")
# A published number and ours mean the same only where these agree, and the number of questions asked.
_COMPARED = ("cell", "metric", "cutoff_kind", "cutoff", "label_set")


_CELLS = "select cell, settings_hash from cells where run_id = $run_id"
# What was asked stands in the journal of runs, which nothing takes rows out of.
_QUESTIONS = """
select
    coalesce(
        (select max(cast(counters ->> 'questions' as bigint)) from runs where run_id = $run_id), count(distinct question_id)
    ),
    count(distinct question_id)
from scores
where run_id = $run_id
"""


class Means(TypedDict):
    """The document of `memlake study show --json`.

    Attributes:
        questions: how many the run asked.
        forgotten: how many of them this snapshot no longer has scores of, since their conversations were forgotten.
    """

    run_id: str
    study: str
    corpus: str
    questions: int
    forgotten: int
    means: list[Row]
    published: list[Row]


def known_studies() -> list[Row]:
    """The studies that come with memlake."""
    studies = [find_study(name) for name in study_names()]
    return [
        {
            "study": study.name,
            "corpus": study.corpus,
            "cells": ", ".join(cell.name for cell in study.cells),
            "budgets": ", ".join(f"{value} {kind}" for kind, value in study.cutoffs.pairs()),
        }
        for study in studies
    ]


def runs_of(uri: str, at: str) -> list[Row]:
    """The runs of studies in a lake, oldest first; none where there is no lake or no snapshot yet."""
    try:
        lake = open_lake(uri)
        snapshot = lake.snapshot(at)
    except NotFoundError:
        if at != "latest":
            raise
        return []
    cells = snapshot.read("cells", columns=["run_id", "study", "corpus", "cell", "read_snapshot_id"])
    keys = ["run_id", "study", "corpus", "read_snapshot_id"]
    grouped = cells.group_by(keys, use_threads=False).aggregate([("cell", "list")]).to_pylist()
    published = lake.snapshots()
    created_at = dict(zip(published["run_id"].to_pylist(), published["created_at"].to_pylist(), strict=True))
    rows = [
        {
            **{key: row[key] for key in keys},
            "cells": ", ".join(row["cell_list"]),
            "created_at": created_at[row["run_id"]],
        }
        for row in grouped
    ]
    return sorted(rows, key=lambda row: row["created_at"])


def means(uri: str, at: str, run_id: str | None, *, by: str | None = None) -> Means:
    """Every mean of a run, of all questions or by category, and published numbers beside ours.

    Raises:
        NotFoundError: the lake holds no such run, or none at all.
        UsageError: `by` is something else than 'category'.
    """
    if by not in (None, "category"):
        raise UsageError(f"by={by!r} is not allowed; allowed: category", hint="memlake study show RUN --by category")
    run = _find_run(runs_of(uri, at), run_id)
    with connect(open_lake(uri), at) as connection:
        found = summary(connection, run["run_id"])
        cells = connection.sql(_CELLS, params={"run_id": run["run_id"]}).to_arrow_table()
        asked, scored = connection.execute(_QUESTIONS, {"run_id": run["run_id"]}).fetchall()[0]
    overall = pc.is_null(found["category"])
    chosen = found.filter(pc.invert(overall) if by else overall)
    order = {name: place for place, name in enumerate(run["cells"].split(", "))}
    rows = sorted(chosen.to_pylist(maps_as_pydicts="strict"), key=lambda row: order[row["cell"]])
    published = () if by else _published(run, cells)
    return Means(
        run_id=run["run_id"],
        study=run["study"],
        corpus=run["corpus"],
        questions=asked,
        forgotten=asked - scored,
        means=rows,
        published=[line for one in published for line in _beside(one, rows)],
    )


def layout(found: Means) -> list[tuple[str, list[Row]]]:
    """The means as tables to read: a title, and a row a cell (and category) with a column a budget."""
    tables = []
    for label_set in dict.fromkeys(row["label_set"] for row in found["means"]):
        for metric, title in TITLES.items():
            rows = [row for row in found["means"] if (row["metric"], row["label_set"]) == (metric, label_set)]
            if rows:
                tables.append((f"{title} ({metric}, labels: {label_set})", _wide(rows)))
    return tables


def excluded_of(found: Means) -> dict[str, int]:
    """Questions that a metric of the layout could not score, by reason; the most in any cell at any cutoff."""
    sums: Counter[tuple[object, ...]] = Counter()
    for row in found["means"]:
        if row["metric"] in TITLES:
            place = (row["cell"], row["metric"], row["label_set"], row["cutoff_kind"], row["cutoff"])
            for reason, number in (row["reasons"] or {}).items():
                sums[reason, *place] += number
    reasons = sorted({str(key[0]) for key in sums})
    return {reason: max(number for key, number in sums.items() if key[0] == reason) for reason in reasons}


def _wide(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    lines: dict[tuple[str, str | None], Row] = {}
    for row in sorted(rows, key=lambda row: (row["cutoff_kind"] == "k", row["cutoff"])):
        line = lines.setdefault((row["cell"], row["category"]), {"cell": row["cell"]})
        if row["category"] is not None:
            line["category"] = row["category"]
        budget = {"tokens": f"{row['cutoff']:,} tokens", "k": f"first {row['cutoff']}", "none": "store"}
        line[budget[row["cutoff_kind"]]] = row["mean"]
        line["n"], line["excluded"] = row["n"], row["excluded"]
    # n stands last although it is the same for every budget of a cell.
    return [
        {**{k: v for k, v in line.items() if k not in _LAST}, **{k: line[k] for k in _LAST}} for line in lines.values()
    ]


def _published(run: Mapping[str, Any], cells: pa.Table) -> list[Published]:
    """Published numbers of the study that comes with memlake, of the cells that this run had with the same settings."""
    if run["study"] not in study_names():
        return []
    study = find_study(run["study"])
    declared = cell_rows(study, run_id="", read_snapshot_id="").select(cells.column_names).to_pylist()
    same = {row["cell"] for row in cells.to_pylist() if row in declared}
    return [one for one in study.published if study.corpus == run["corpus"] and one.cell in same]


def _beside(one: Published, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A published number beside ours of the same cell, metric, cutoff, labels and number of questions; else nothing."""
    wanted = (one.cell, one.metric, one.cutoff_kind, one.cutoff, one.label_set, one.n)
    return [
        {
            "cell": one.cell,
            "metric": one.metric,
            "cutoff": f"{one.cutoff} {one.cutoff_kind}",
            "label_set": one.label_set,
            "n": one.n,
            "published": one.value,
            "ours": row["mean"],
            "difference": row["mean"] - one.value,
            "source": one.source,
        }
        for row in rows
        if (*(row[name] for name in _COMPARED), row["n"] + row["excluded"]) == wanted and row["mean"] is not None
    ]


def _find_run(runs: Sequence[Row], run_id: str | None) -> Row:
    if not runs:
        raise NotFoundError("no study was run in this lake", hint="memlake study run STUDY")
    if run_id is None:
        return runs[-1]
    found = next((run for run in runs if run["run_id"] == run_id), None)
    if found is None:
        names = [run["run_id"] for run in runs]
        nearest = get_close_matches(run_id, names, n=3, cutoff=0.4) or names[-3:]
        raise NotFoundError(f"run={run_id!r} is unknown; nearest: {', '.join(nearest)}", hint="memlake study ls")
    return found
