"""`memlake study`: representations compared on questions with known answers."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from memlake.flows.cli.catalogue import epilogue
from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, studies, table
from memlake.flows.run.settings import PrefectSettings, ReadSettings, StudyChoice, StudyName, StudySettings

app = App(name="study", help_epilogue=epilogue("study"))


@app.command(name="run")
@configured
def run_one(settings: StudySettings, where: PrefectSettings) -> None:
    """Search every cell of a study, let its readers answer and its judges judge, score it all, publish a snapshot."""
    from memlake.flows.run.adapter import run_flow
    from memlake.flows.study import run_study

    made = run_flow(run_study, settings, name="study", prefect=where.prefect, quiet=settings.quiet)
    studies.note_forgotten(made, quiet=settings.quiet)
    if not output.document(made) and not settings.quiet:
        studies.ran(made)


@app.command(name="plan")
@configured
def plan(settings: StudyChoice) -> None:
    """Say what a study still lacks in this lake, what models would be asked for it, and what that would cost."""
    from memlake.flows.cli.printing import summaries
    from memlake.flows.study import price_study

    summaries.study_priced(price_study(settings))


@app.command(name="ls")
@configured
def ls(read: ReadSettings) -> None:
    """List the studies that come with memlake, and the runs of studies that the lake holds."""
    from memlake.transforms.evaluate.runs import known_studies, runs_of

    known, runs = known_studies(), [found.row() for found in runs_of(read.lake, read.at)]
    if output.document({"studies": known, "runs": runs}):
        return
    table.show_rows(known, title="Studies")
    if runs:
        output.say()
        table.show_rows(runs, title="Runs in this lake")


@app.command(name="show")
@configured
def show(
    run_id: Annotated[str | None, Parameter(help="The run (default: the latest).")] = None,
    /,
    *,
    by: Annotated[str | None, Parameter(help="category splits every mean by the questions' category.")] = None,
    read: ReadSettings,
) -> None:
    """Show a run's means: answers that survive and evidence found, by cell and budget, with n and what was excluded."""
    from memlake.transforms.evaluate.means import means

    found = means(read.lake, read.at, run_id, by=by)
    if not output.document(found):
        studies.shown(found)


@app.command(name="compare")
@configured
def compare(
    a: Annotated[str, Parameter(help="RUN, or RUN/CELL.")],
    b: Annotated[
        str, Parameter(help="RUN, or RUN/CELL; without cells, each cell is compared with the one of its name.")
    ],
    /,
    *,
    metric: Annotated[str | None, Parameter(help="Only this metric (default: every one that both have).")] = None,
    read: ReadSettings,
) -> None:
    """Compare two runs, or cells of them, question by question: differences with intervals and tests."""
    from memlake.transforms.evaluate.compare import compare_runs

    found: dict[str, Any] = compare_runs(read.lake, read.at, a, b, metric=metric)
    if not output.document(found):
        studies.compared(found, a, b)


@app.command(name="gate")
@configured
def gate(
    study: StudyName,
    /,
    *,
    run_id: Annotated[str | None, Parameter(name="--run", help="The run (default: the study's latest).")] = None,
    read: ReadSettings,
) -> None:
    """Hold a study's run against the numbers that the study states; exit code 4 when one left its tolerance."""
    from memlake.transforms.base.errors import GateError
    from memlake.transforms.evaluate.gate import gate_study

    try:
        made: dict[str, Any] = gate_study(read.lake, read.at, study, run_id=run_id)
    except GateError as error:
        if not output.as_json():
            studies.gates(error.document or {})
        raise
    if not output.document(made):
        studies.gates(made)
