"""Report: a run of a study as one document, read from the published tables alone."""

from contextlib import ExitStack
from pathlib import Path

from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.jsonable import json_text
from memlake.transforms.evaluate.runs import find_run, runs_of, study_of_run
from memlake.transforms.lake.commit.publish import forgotten_of
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.lake.storage.place import put_text
from memlake.transforms.report.data.browser_rows import TABLES_AS_READ
from memlake.transforms.report.data.document import Document
from memlake.transforms.report.data.report import report_document
from memlake.transforms.report.page.page import page

SUFFIXES = (".html", ".json")


def make_report(uri: str, at: str, run_id: str | None, *, questions: int | None = None) -> Document:
    """The report of a run; the document of `memlake report --json`.

    Args:
        run_id: None for the latest.
        questions: how many the browser keeps, those on which cells differ first; None keeps all.

    Raises:
        NotFoundError: no such lake, snapshot or run, or the snapshot that the run read is gone.
        UsageError: `questions` is less than 1.
    """
    if questions is not None and questions < 1:
        raise UsageError(f"questions={questions} is not allowed: 1 or more", hint="leave it out to keep every question")
    lake = open_lake(uri)
    run = find_run(runs_of(uri, at), run_id)
    declared, study = study_of_run(lake, run.run_id)
    latest = lake.latest()
    forgotten = {corpus.name: frozenset(forgotten_of(latest, corpus.name).to_pylist()) for corpus in study.corpora}
    here, read = lake.snapshot(at), lake.snapshot(run.read_snapshot_id)
    with ExitStack() as opened:
        connection = opened.enter_context(connect(lake, here))
        is_as_read = all(here.pins.get(table) == read.pins.get(table) for table in TABLES_AS_READ)
        source = connection if is_as_read else opened.enter_context(connect(lake, read))
        return report_document(
            connection, source, run.run_id, study, declared=declared, forgotten=forgotten, questions=questions
        )


def write_report(found: Document, out: Path) -> int:
    """Write the report as a page or as JSON, by the suffix, replacing a file only when the new one is whole; its bytes."""
    return put_text(out, page(found) if out.suffix == ".html" else json_text(found))
