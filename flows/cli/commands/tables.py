"""`memlake tables`: what a lake holds, what a table's columns mean, whether the stored rows keep their promises."""

from dataclasses import asdict
from typing import Annotated

from cyclopts import App, Parameter

from memlake.flows.cli.catalogue import epilogue
from memlake.flows.cli.options import configured, open_for_reading
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import Quiet, ReadSettings
from memlake.transforms.base.errors import AuditError

app = App(name="tables", help_epilogue=epilogue("tables"))
SAMPLE_ROWS, SAMPLE_CELL = 5, 60


@app.command(name="ls")
@configured
def ls(read: ReadSettings) -> None:
    """List the tables at a snapshot: kind, rows, pinned version, and what one row is."""
    from memlake.transforms.lake.query.inventory import tables_of

    rows = tables_of(open_for_reading(read), read.at)
    if output.document(rows):
        return
    table.show_rows(rows)


@app.command(name="show")
@configured
def show(
    name: Annotated[str, Parameter(help="A table of `memlake tables ls`.")],
    /,
    *,
    rows: Annotated[int, Parameter(help="How many rows to show.")] = SAMPLE_ROWS,
    read: ReadSettings,
) -> None:
    """Describe a table: grain, key, columns with their meaning, and its first rows."""
    from memlake.transforms.lake.query.inventory import describe

    about = describe(open_for_reading(read), read.at, name, rows=rows)
    if output.document(about):
        return
    output.say(f"{about['table']}: one row is {about['grain']}; key: {', '.join(about['key'])}; {about['rows']:,} rows")
    output.say()
    table.show_rows(about["columns"])
    if about["sample"]:
        output.say()
        table.show_rows(about["sample"], max_cell=SAMPLE_CELL)


@app.command(name="verify")
@configured
def verify(read: ReadSettings, *, quiet: Quiet = False) -> int:
    """Check every stored row: keys are unique, transcripts can be rebuilt from chunks, vectors fit their units.

    Ends with exit code 4 when an audit finds offending rows.
    """
    from memlake.transforms.lake.commit.audit import verify as run_audits

    findings = [asdict(finding) for finding in run_audits(open_for_reading(read), read.at)]
    failed = [finding for finding in findings if finding["rows"]]
    if failed:
        error = AuditError(
            "; ".join(f"{finding['audit']}: {finding['rows']} offending rows" for finding in failed),
            hint="memlake snapshots ls shows earlier versions; memlake snapshots restore goes back to one",
        )
        if output.document_with_error({"audits": findings}, error):
            return error.exit_code
        table.show_rows(findings)
        raise error
    if not output.document({"audits": findings}) and not quiet:
        table.show_rows(findings)
    return 0
