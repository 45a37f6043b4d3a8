"""`memlake sql`: one query, or a report file, over every table of the lake at a snapshot."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import DuckDBSettings, Quiet, ReadSettings

if TYPE_CHECKING:
    from memlake.transforms.lake.query.statement import Report

# More rows than this scroll a terminal past what anybody reads; a pipe gets all of them.
MAX_ROWS = 40


@configured
def sql(
    query: Annotated[str | None, Parameter(help="The query.")] = None,
    /,
    *,
    file: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="A report's name, a path to a .sql file, or - for standard input."),
    ] = None,
    param: Annotated[
        tuple[str, ...] | None, Parameter(negative="", help="A value for $NAME in the query, NAME=VALUE; repeat it.")
    ] = None,
    reports: Annotated[bool, Parameter(negative="", show_default=False, help="List the reports and end.")] = False,
    out: Annotated[Path | None, Parameter(help="Write to this file instead: .csv, .parquet or .json.")] = None,
    read: ReadSettings,
    duckdb: DuckDBSettings,
    quiet: Quiet = False,
) -> None:
    """Run one reading statement and print its rows."""
    from memlake.transforms.base.out_file import check_out
    from memlake.transforms.lake.query import statement as queries
    from memlake.transforms.lake.query.connect import connect
    from memlake.transforms.lake.storage.lake import open_lake

    if reports:
        if not output.document(queries.reports()):
            _tell_reports(queries.reports())
        return
    text = queries.find(query, file)
    values = queries.parameters(param or ())
    if out is not None:
        check_out(out, queries.SUFFIXES, example="rows.parquet")
    opened = connect(open_lake(read.lake), at=read.at, **asdict(duckdb))
    if out is not None:
        rows = queries.write(opened, text, values, out)
        _note_nothing(text if file else "", rows, quiet=quiet)
        if not output.document({"out": str(out), "rows": rows}):
            output.note(f"{rows:,} rows in {out}", quiet=quiet)
        return
    found = queries.fetch(opened, text, values)
    _note_nothing(text if file else "", found.num_rows, quiet=quiet)
    if output.as_json():
        output.document(found.to_pylist(maps_as_pydicts="lossy"))
        return
    shown = found.slice(0, MAX_ROWS) if table.on_terminal() else found
    table.show_arrow(shown)
    if shown.num_rows < found.num_rows:
        output.note(
            f"{shown.num_rows} of {found.num_rows:,} rows; all of them: --json, --out FILE, or a pipe", quiet=quiet
        )


def _note_nothing(report: str, rows: int, *, quiet: bool) -> None:
    """Say on stderr what it means that a report found nothing; a query's author knows."""
    from memlake.transforms.lake.query.statement import no_rows

    if report and not rows:
        output.note(no_rows(report), quiet=quiet)


def _tell_reports(reports: "list[Report]") -> None:
    for report in reports:
        output.say(f"{report['report']}\n    {report['answers']}")
        for parameter in report["parameters"]:
            output.say(f"    --param {parameter}")
