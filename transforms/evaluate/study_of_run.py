"""The study that a run ran: its text and the run's settings as the journal holds them, not the file as it is now."""

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq

from memlake.schemas import RUNS
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.study.parse import parse_study
from memlake.transforms.study.study import Study


def study_of_run(lake: Lake, run_id: str) -> Study:
    """The study of a run, as the run's settings changed it.

    Raises:
        NotFoundError: the journal holds no such run, or not what it ran.
    """
    files = [str(lake.table_path("runs") / path) for path in lake.newest_files(RUNS)]
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
    return parse_study(counters["study"], source=settings["study"]).under(
        corpora=settings["corpus"],
        embedder=settings["embedder"],
        reranker=settings["reranker"],
        model=settings["models"]["model"],
    )
