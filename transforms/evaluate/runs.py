"""Studies that come with memlake, the runs of studies that a lake holds, and the study that a run ran."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from memlake.schemas import RUNS
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.study.parse import find_study, parse_study, study_names
from memlake.transforms.study.study import Study


@dataclass(frozen=True, slots=True)
class StudyRun:
    """A run of a study that a lake holds."""

    run_id: str
    study: str
    read_snapshot_id: str
    corpora: tuple[str, ...]
    cells: tuple[str, ...]
    created_at: datetime

    def row(self) -> dict[str, object]:
        """The run as `memlake study ls` lists it."""
        return asdict(self) | {"corpora": ", ".join(self.corpora), "cells": ", ".join(self.cells)}


class RanStudy(NamedTuple):
    """What a run ran: the study as its text has it, and as the run's settings changed it."""

    declared: Study
    study: Study


def known_studies() -> list[dict[str, str]]:
    """The studies that come with memlake."""
    return [
        {
            "study": study.name,
            "corpora": ", ".join(corpus.name for corpus in study.corpora),
            "cells": ", ".join(cell.name for cell in study.cells),
            "budgets": ", ".join(f"{value} {kind}" for kind, value in study.cutoffs.pairs),
        }
        for study in map(find_study, study_names())
    ]


def runs_of(uri: str, at: str) -> list[StudyRun]:
    """The runs of studies in a lake, oldest first; none where there is no lake or no snapshot yet."""
    try:
        lake = open_lake(uri)
        snapshot = lake.snapshot(at)
    except NotFoundError:
        if at != "latest":
            raise
        return []
    keys = ["run_id", "study", "read_snapshot_id"]
    cells = snapshot.read("cells", columns=[*keys, "corpus", "cell"])
    grouped = cells.group_by(keys, use_threads=False).aggregate([("corpus", "list"), ("cell", "list")]).to_pylist()
    published = lake.snapshots()
    created_at = dict(zip(published["run_id"].to_pylist(), published["created_at"].to_pylist(), strict=True))
    runs = [
        StudyRun(
            **{key: row[key] for key in keys},
            corpora=tuple(dict.fromkeys(row["corpus_list"])),
            cells=tuple(dict.fromkeys(row["cell_list"])),
            created_at=created_at[row["run_id"]],
        )
        for row in grouped
    ]
    return sorted(runs, key=lambda run: run.created_at)


def find_run(runs: Sequence[StudyRun], run_id: str | None, *, study: str | None = None) -> StudyRun:
    """A run by its id; without one the latest, of a study if one is named.

    Raises:
        NotFoundError: there is none.
    """
    if study is not None:
        runs = [run for run in runs if run.study == study]
    if not runs:
        what = "no study" if study is None else f"study={study!r} never"
        raise NotFoundError(f"{what} was run in this lake", hint=f"memlake study run {study or 'STUDY'}")
    if run_id is None:
        return runs[-1]
    found = next((run for run in runs if run.run_id == run_id), None)
    if found is None:
        names = [run.run_id for run in runs]
        nearest = get_close_matches(run_id, names, n=3, cutoff=0.4) or names[-3:]
        raise NotFoundError(f"run={run_id!r} is unknown; nearest: {', '.join(nearest)}", hint="memlake study ls")
    return found


def study_of_run(lake: Lake, run_id: str) -> RanStudy:
    """The study that a run ran: its text and the run's settings as the journal holds them, not the file as it is now.

    Raises:
        NotFoundError: the journal holds no such run, or not what it ran.
    """
    files = lake.newest_files(RUNS)
    where = pc.field("run_id") == run_id
    found = pq.read_table(files, columns=["event", "settings", "counters"], filters=where) if files else None
    # 'ended' before 'started', which is all that there is of a run that was killed after it had published.
    rows = found.sort_by("event").to_pylist() if found is not None else []
    counters = json.loads(rows[0]["counters"] or "{}") if rows else {}
    if "study" not in counters:
        raise NotFoundError(
            f"run={run_id!r}: the journal does not hold the study that it ran, as of runs of older versions",
            hint="memlake study run STUDY; what models said replays from the cache",
        )
    settings = json.loads(rows[0]["settings"])
    declared = parse_study(counters["study"], source=settings["study"])
    changed = declared.under(
        corpora=settings["corpus"],
        embedder=settings["embedder"],
        reranker=settings["reranker"],
        model=settings["models"]["model"],
    )
    return RanStudy(declared, changed)
