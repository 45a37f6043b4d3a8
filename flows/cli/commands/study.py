"""`memlake study`: representations compared on questions with known answers."""

import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from memlake.flows.cli.catalogue import epilogue
from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import PrefectSettings, ReadSettings, StudyChoice, StudyName, StudySettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

app = App(name="study", help_epilogue=epilogue("study"))


@app.command(name="run")
@configured
def run_one(settings: StudySettings, where: PrefectSettings) -> None:
    """Search every cell of a study, let its readers answer and its judges judge, score it all, publish a snapshot."""
    from memlake.flows.run.adapter import run_flow
    from memlake.flows.study import run_study

    made = run_flow(run_study, settings, name="study", prefect=where.prefect, quiet=settings.quiet)
    _note_forgotten(made, quiet=settings.quiet)
    if not output.document(made) and not settings.quiet:
        _tell(made)


@app.command(name="plan")
@configured
def plan(settings: StudyChoice) -> None:
    """Say what a study still lacks in this lake, what models would be asked for it, and what that would cost."""
    from memlake.flows.cli.printing import summaries
    from memlake.flows.study import price_study

    summaries.study_priced(price_study(settings))


def _note_forgotten(made: "Mapping[str, Any]", *, quiet: bool) -> None:
    if forgotten := made["excluded"].get("forgotten"):
        output.note(
            f"{forgotten:,} questions are left out: the snapshot that was read still holds their conversations, which "
            "were forgotten since",
            quiet=quiet,
        )


def _note_empty(rows: "Sequence[Mapping[str, Any]]") -> None:
    """Say where a budget shows nothing at all: a mean over such contexts is one of packing, not of what was stored."""
    if not rows:
        return
    worst = sorted(rows, key=lambda row: -row["empty"] / row["contexts"])[:3]
    shown = "; ".join(
        f"{row['empty']:,} of {row['contexts']:,} of {row['corpus']}/{row['cell']} at {row['cutoff']:,} tokens"
        for row in worst
    )
    more = f"; and {len(rows) - 3} more cells and budgets" if len(rows) > 3 else ""
    output.say(f"empty contexts, whose first unit is longer than the budget, or which found none: {shown}{more}")


def _tell(made: "Mapping[str, Any]") -> None:
    excluded = ", ".join(f"{count} {reason}" for reason, count in made["excluded"].items()) or "none"
    output.say(f"{made['study']}: {made['questions']:,} questions in {made['cells']} cells, {made['seconds']:.1f} s")
    output.say(f"not scored by some metric: {excluded}")
    _note_empty(made.get("empty_contexts", ()))
    for cell, pairs in made.get("cut_for_reranker", {}).items():
        output.say(f"{cell}: {pairs:,} pairs of question and unit were longer than its reranker takes, and cut there")
    if "answers" in made:
        output.say(f"{made['answers']:,} answers, {made['judgements']:,} verdicts")
    if models := made.get("models"):
        price = "price unknown" if models["price_usd"] is None else f"{models['price_usd']:,.4f} US dollars"
        output.say(f"models: {models['calls']:,} calls, {models['cached']:,} from the cache, {price}")
    output.say(f"snapshot {made['snapshot_id']} holds the rows, read from {made['read_snapshot_id']}")
    output.say(f"next: memlake report {made['run_id']} --out report.html")


@app.command(name="ls")
@configured
def ls(read: ReadSettings) -> None:
    """List the studies that come with memlake, and the runs of studies that the lake holds."""
    from memlake.transforms.evaluate.runs import known_studies, runs_of

    studies, runs = known_studies(), runs_of(read.lake, read.at)
    if output.document({"studies": studies, "runs": runs}):
        return
    table.show_rows(studies, title="Studies")
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
    from memlake.transforms.evaluate.runs import excluded_of, layout, means

    found = means(read.lake, read.at, run_id, by=by)
    if output.document(found):
        return
    output.say(f"{found['study']} on {', '.join(found['corpora'])}, run {found['run_id']}")
    for title, rows in layout(found):
        output.say()
        table.show_rows(rows, title=title)
    if found["published"]:
        output.say()
        table.show_rows(found["published"], title="Beside published numbers")
    output.say()
    if found["forgotten"]:
        output.say(f"gone since: {found['forgotten']:,} of {found['questions']:,} questions, with their conversations")
    for reason, number in excluded_of(found).items():
        output.say(f"excluded: {number:,} questions, {reason}")
    _note_empty(found["empty_contexts"])
    output.say("every metric: memlake sql --file score-means")


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
    if output.document(found):
        return
    output.say(f"a: {a} (read from {found['a']['read_snapshot_id']})")
    output.say(f"b: {b} (read from {found['b']['read_snapshot_id']})")
    for pair in found["settings"]:
        for name, (value_a, value_b) in pair["differ"].items():
            output.say(
                f"{pair['cell_a']} and {pair['cell_b']} differ in {name}: {json.dumps(value_a)} against {json.dumps(value_b)}"
            )
    columns = (
        "corpus",
        "cell_a",
        "cell_b",
        "metric",
        "cutoff_kind",
        "cutoff",
        "judge",
        "n",
        "value",
        "low",
        "high",
        "p",
    )
    rows = [row for row in found["differences"] if row["statistic"] == "difference"]
    output.say()
    table.show_rows([{name: row[name] for name in columns} for row in rows], title="Differences, a - b")
    if changed := found["changed_questions"]:
        output.say(f"left out: {changed:,} questions that read or are answered otherwise in the two snapshots")
    for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
        output.say(note)


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
            _show_gates(error.document or {})
        raise
    if not output.document(made):
        _show_gates(made)


def _show_gates(made: "Mapping[str, Any]") -> None:
    columns = (
        "corpus",
        "cell",
        "metric",
        "cutoff",
        "category",
        "stated",
        "tolerance",
        "measured",
        "n",
        "passed",
        "why",
    )
    table.show_rows([{name: row[name] for name in columns} for row in made["gates"]], title=f"Gates of {made['study']}")
