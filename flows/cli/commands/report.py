"""`memlake report`: a run of a study as one page, or as JSON."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output
from memlake.flows.run.settings import Quiet, ReadSettings

# Bytes from which on a page is slow to open.
_LARGE = 25_000_000


@configured
def report(
    run_id: Annotated[str | None, Parameter(help="The run (default: the latest).")] = None,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="The file to write: .html for the page, .json for its data.")] = None,
    questions: Annotated[
        int | None,
        Parameter(help="How many questions the browser keeps, those on which cells differ first (default all)."),
    ] = None,
    read: ReadSettings,
    quiet: Quiet = False,
) -> None:
    """Write a run's report: figures with intervals, losses, costs, controls, and a browser of what each memory lost."""
    from memlake.transforms.base.errors import UsageError

    if out is None and not output.as_json():
        raise UsageError("one of --out and --json is needed, none was given", hint="memlake report --out report.html")
    from memlake.flows.report import SUFFIXES, make_report, write_report
    from memlake.transforms.base.out_file import check_out

    if out is not None:
        check_out(out, SUFFIXES, example="report.html")
    made = make_report(read.lake, read.at, run_id, questions=questions)
    if out is not None:
        size = write_report(made, out)
        kept = made["browser"]["kept"]
        output.note(f"{out}: run {made['run']['run_id']}, {kept:,} questions, {size / 1e6:.1f} MB", quiet=quiet)
        if size > _LARGE:
            output.note(
                "a page of this size opens slowly on a phone: --questions 200 keeps the most telling ones", quiet=quiet
            )
    output.document(made)
