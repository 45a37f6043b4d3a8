"""Studies that come with memlake, runs that a lake holds, and a run's means laid out for reading."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.metrics import METRICS, Metric
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.evaluate.stages import EMPTY_CONTEXTS
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.score.scores import summary
from memlake.transforms.study.cells import cell_rows
from memlake.transforms.study.library import find_study, study_names
from memlake.transforms.study.study import PublishedNumber, Study

Row = dict[str, Any]

_LAST = ("n", "excluded")
# A published number and ours mean the same only where these agree, and the number of questions asked.
_COMPARED = ("corpus", "cell", "metric", "cutoff_kind", "cutoff", "label_set", "judge")


CELLS = "select cell, corpus, settings from cells where run_id = $run_id"
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
        empty_contexts: cells and token budgets at which contexts show nothing.
        forgotten: how many of them this snapshot no longer has scores of, since their conversations were forgotten.
    """

    run_id: str
    study: str
    corpora: list[str]
    questions: int
    forgotten: int
    means: list[Row]
    published: list[Row]
    empty_contexts: list[Row]


def known_studies() -> list[Row]:
    """The studies that come with memlake."""
    studies = [find_study(name) for name in study_names()]
    return [
        {
            "study": study.name,
            "corpora": ", ".join(corpus.name for corpus in study.corpora),
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
    keys = ["run_id", "study", "read_snapshot_id"]
    grouped = cells.group_by(keys, use_threads=False).aggregate([("corpus", "list"), ("cell", "list")]).to_pylist()
    published = lake.snapshots()
    created_at = dict(zip(published["run_id"].to_pylist(), published["created_at"].to_pylist(), strict=True))
    rows = [
        {
            **{key: row[key] for key in keys},
            "corpora": ", ".join(dict.fromkeys(row["corpus_list"])),
            "cells": ", ".join(dict.fromkeys(row["cell_list"])),
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
    run = find_run(runs_of(uri, at), run_id)
    with connect(open_lake(uri), at) as connection:
        found = summary(connection, run["run_id"])
        cells = connection.sql(CELLS, params={"run_id": run["run_id"]}).to_arrow_table()
        asked, scored = connection.execute(_QUESTIONS, {"run_id": run["run_id"]}).fetchall()[0]
        empty = connection.sql(EMPTY_CONTEXTS, params={"run_id": run["run_id"]}).to_arrow_table().to_pylist()
    overall = pc.is_null(found["category"])
    chosen = found.filter(pc.invert(overall) if by else overall)
    order = {name: place for place, name in enumerate(run["cells"].split(", "))}
    rows = sorted(chosen.to_pylist(maps_as_pydicts="strict"), key=lambda row: order[row["cell"]])
    published = () if by else _published(run, cells)
    return Means(
        run_id=run["run_id"],
        study=run["study"],
        corpora=run["corpora"].split(", "),
        questions=asked,
        forgotten=asked - scored,
        means=rows,
        published=[line for one in published for line in _beside(one, rows)],
        empty_contexts=empty,
    )


def layout(found: Means) -> list[tuple[str, list[Row]]]:
    """The means as tables to read: a title, and a row a cell (and category) with a column a budget."""
    tables = []
    kinds = dict.fromkeys((row["corpus"], row["label_set"], row["judge"]) for row in found["means"])
    for corpus, label_set, judge in kinds:
        for card in _tabled():
            wanted = (card.name, corpus, label_set, judge)
            rows = [
                row
                for row in found["means"]
                if (row["metric"], row["corpus"], row["label_set"], row["judge"]) == wanted
            ]
            if rows:
                told = [card.name, f"labels: {label_set}", *([f"judge: {judge}"] if judge else [])]
                on = f" on {corpus}" if len(found["corpora"]) > 1 else ""
                tables.append((f"{card.title}{on} ({', '.join(told)})", _wide(rows)))
    return tables


def _tabled() -> list[Metric]:
    """The metrics of the layout; survival before recall, which of a summary is generous by construction."""
    return sorted((card for card in METRICS.values() if card.table is not None), key=lambda card: card.table or 0)


def excluded_of(found: Means) -> dict[str, int]:
    """Questions that a metric of the layout could not score, by reason: of each corpus the most in any cell at any cutoff."""
    sums: Counter[tuple[object, ...]] = Counter()
    tabled = {card.name for card in _tabled()}
    for row in found["means"]:
        if row["metric"] in tabled:
            place = (
                row["corpus"],
                row["cell"],
                row["metric"],
                row["judge"],
                row["label_set"],
                row["cutoff_kind"],
                row["cutoff"],
            )
            for reason, number in (row["reasons"] or {}).items():
                sums[reason, *place] += number
    most: dict[tuple[str, str], int] = {}
    for (reason, corpus, *_), number in sums.items():
        key = (str(reason), str(corpus))
        most[key] = max(most.get(key, 0), number)
    reasons = sorted({reason for reason, _ in most})
    return {reason: sum(number for key, number in most.items() if key[0] == reason) for reason in reasons}


def _wide(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    lines: dict[tuple[str, str | None], Row] = {}
    counts: dict[tuple[str, str | None], dict[str, list[int]]] = {}
    for row in sorted(rows, key=lambda row: (row["cutoff_kind"] == "k", row["cutoff"])):
        line = lines.setdefault((row["cell"], row["category"]), {"cell": row["cell"]})
        if row["category"] is not None:
            line["category"] = row["category"]
        budget = {"tokens": f"{row['cutoff']:,} tokens", "k": f"first {row['cutoff']}", "none": "store"}
        line[budget[row["cutoff_kind"]]] = row["mean"]
        for name in _LAST:
            counts.setdefault((row["cell"], row["category"]), {}).setdefault(name, []).append(row[name])
    # n stands last, as a range where readers or judges failed at one budget and not at another.
    for key, line in lines.items():
        line |= {name: _range(counts[key][name]) for name in _LAST}
    return [
        {**{k: v for k, v in line.items() if k not in _LAST}, **{k: line[k] for k in _LAST}} for line in lines.values()
    ]


def _range(counts: Sequence[int]) -> int | str:
    least, most = min(counts), max(counts)
    return least if least == most else f"{least} to {most}"


def _published(run: Mapping[str, Any], cells: pa.Table) -> list[PublishedNumber]:
    """Published numbers of the study that comes with memlake, of the cells that this run had with the same settings."""
    if run["study"] not in study_names():
        return []
    study = find_study(run["study"])
    same = same_cells(study, cells)
    own = study.corpora[0].name
    named = [replace(one, corpus=one.corpus or own) for one in study.published]
    return [one for one in named if (one.corpus, one.cell) in same]


def same_cells(study: Study, cells: pa.Table) -> set[tuple[str, str]]:
    """Of a run's cells (corpus, cell, settings) those that a study declares with the same settings.

    What a study leaves to the run is any run's: whose server answers, and which model where the study names none.
    """
    declared = {
        (row["corpus"], row["cell"]): json.loads(row["settings"])
        for corpus in study.corpora
        for row in cell_rows(study, corpus, run_id="", read_snapshot_id="").to_pylist()
    }
    held = {(row["corpus"], row["cell"]): json.loads(row["settings"]) for row in cells.to_pylist()}
    return {key for key, settings in held.items() if key in declared and _is_same(declared[key], settings)}


def _is_same(declared: Row, held: Row) -> bool:
    held = {"reader": None, **held}  # runs of before there were readers do not name one
    for settings in (declared, held):
        if settings["reader"] and "provider" in settings["reader"]:
            settings["reader"]["provider"] = ""
    if declared["reader"] and not declared["reader"].get("model") and held["reader"]:
        held["reader"] |= {"model": declared["reader"]["model"]} if "model" in declared["reader"] else {}
    return declared == held


def _beside(one: PublishedNumber, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A published number beside ours of the same cell, measure and number of questions; else nothing."""
    at = one.measure
    wanted = (one.corpus, one.cell, at.metric, at.cutoff_kind, at.cutoff, at.label_set, at.judge, one.n)
    return [
        {
            "cell": one.cell,
            "metric": at.metric,
            "cutoff": f"{at.cutoff} {at.cutoff_kind}",
            "label_set": at.label_set,
            "n": one.n,
            "published": one.value,
            "ours": row["mean"],
            "difference": row["mean"] - one.value,
            "source": one.source,
        }
        for row in rows
        if (*(row[name] for name in _COMPARED), row["n"] + row["excluded"]) == wanted and row["mean"] is not None
    ]


def find_run(runs: Sequence[Row], run_id: str | None, *, study: str | None = None) -> Row:
    """A run by its id; without one the latest, of a study if one is named.

    Raises:
        NotFoundError: there is none.
    """
    if study is not None:
        runs = [run for run in runs if run["study"] == study]
    if not runs:
        what = "no study" if study is None else f"study={study!r} never"
        raise NotFoundError(f"{what} was run in this lake", hint=f"memlake study run {study or 'STUDY'}")
    if run_id is None:
        return runs[-1]
    found = next((run for run in runs if run["run_id"] == run_id), None)
    if found is None:
        names = [run["run_id"] for run in runs]
        nearest = get_close_matches(run_id, names, n=3, cutoff=0.4) or names[-3:]
        raise NotFoundError(f"run={run_id!r} is unknown; nearest: {', '.join(nearest)}", hint="memlake study ls")
    return found
