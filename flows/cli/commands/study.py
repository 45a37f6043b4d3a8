"""`memlake study`: representations compared on questions with known answers."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from memlake.flows.cli.catalogue import epilogue
from memlake.flows.cli.options import (
    AllowDeadRecords,
    AsJson,
    At,
    LakeUri,
    LockTimeout,
    ModelFlags,
    Prefect,
    Quiet,
    run,
    settings,
    split,
)
from memlake.flows.cli.printing import output, studies, table

_NO_MODEL = ModelFlags()
app = App(name="study", help_epilogue=epilogue("study"))


WhichStudy = Annotated[str, Parameter(help="A study of `memlake study ls`, or a path to a .toml file.")]
AskedCorpora = Annotated[
    tuple[str, ...] | None,
    Parameter(
        name="--corpus",
        negative="",
        help="Of the study's corpora only these; of a study of one, another in its place. Repeat it, or separate by commas.",
    ),
]
OtherEmbedder = Annotated[str | None, Parameter(name="--embedder", help="In place of the study's own.")]
OtherReranker = Annotated[
    str | None, Parameter(name="--reranker", help="In place of the study's own; none takes reranking out of its plans.")
]


@app.command(name="run")
def run_one(
    study: WhichStudy,
    /,
    *,
    corpus: AskedCorpora = None,
    embedder: OtherEmbedder = None,
    reranker: OtherReranker = None,
    models: ModelFlags = _NO_MODEL,
    allow_dead_records: AllowDeadRecords = None,
    prefect: Prefect = None,
    lock_timeout: LockTimeout = None,
    lake: LakeUri = None,
    at: At = "latest",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search every cell of a study, let its readers answer and its judges judge, score it all, publish a snapshot."""
    chosen = settings(
        models, lake=lake, lock_timeout=lock_timeout, prefect=prefect, allow_dead_records=allow_dead_records
    )
    from memlake.flows.run.settings import model_settings
    from memlake.flows.study import StudySettings, run_study

    made = run(
        run_study,
        StudySettings(
            lake=chosen.lake,
            study=study,
            corpus=split(corpus) or (),
            embedder=embedder or "",
            reranker=reranker or "",
            at=at,
            lock_timeout_s=chosen.lock_timeout,
            allow_dead_records=chosen.allow_dead_records,
            quiet=quiet,
            models=model_settings(chosen),
        ),
        name="study",
        prefect=chosen.prefect,
        quiet=quiet,
    )
    studies.note_forgotten(made, quiet=quiet)
    if as_json:
        output.document(made)
    elif not quiet:
        studies.ran(made)


@app.command(name="plan")
def plan(
    study: WhichStudy,
    /,
    *,
    corpus: AskedCorpora = None,
    embedder: OtherEmbedder = None,
    reranker: OtherReranker = None,
    models: ModelFlags = _NO_MODEL,
    lake: LakeUri = None,
    at: At = "latest",
    as_json: AsJson = False,
) -> None:
    """Say what a study still lacks in this lake, what models would be asked for it, and what that would cost."""
    chosen = settings(models, lake=lake)
    from memlake.flows.cli.printing import summaries
    from memlake.flows.run.settings import model_settings
    from memlake.flows.study import StudySettings, price_study

    wish = StudySettings(
        lake=chosen.lake,
        study=study,
        corpus=split(corpus) or (),
        embedder=embedder or "",
        reranker=reranker or "",
        at=at,
        models=model_settings(chosen),
    )
    summaries.study_priced(price_study(wish), as_json=as_json)


@app.command(name="ls")
def ls(*, lake: LakeUri = None, at: At = "latest", as_json: AsJson = False) -> None:
    """List the studies that come with memlake, and the runs of studies that the lake holds."""
    from memlake.transforms.evaluate.runs import known_studies, runs_of

    known, runs = known_studies(), [found.row() for found in runs_of(settings(lake=lake).lake, at)]
    if as_json:
        output.document({"studies": known, "runs": runs})
        return
    table.show_rows(known, title="Studies")
    if runs:
        output.say()
        table.show_rows(runs, title="Runs in this lake")


@app.command(name="show")
def show(
    run_id: Annotated[str | None, Parameter(help="The run (default: the latest).")] = None,
    /,
    *,
    by: Annotated[str | None, Parameter(help="category splits every mean by the questions' category.")] = None,
    lake: LakeUri = None,
    at: At = "latest",
    as_json: AsJson = False,
) -> None:
    """Show a run's means: answers that survive and evidence found, by cell and budget, with n and what was excluded."""
    from memlake.transforms.evaluate.means import means

    found = means(settings(lake=lake).lake, at, run_id, by=by)
    if as_json:
        output.document(found)
    else:
        studies.shown(found)


@app.command(name="compare")
def compare(
    a: Annotated[str, Parameter(help="RUN, or RUN/CELL.")],
    b: Annotated[
        str, Parameter(help="RUN, or RUN/CELL; without cells, each cell is compared with the one of its name.")
    ],
    /,
    *,
    metric: Annotated[str | None, Parameter(help="Only this metric (default: every one that both have).")] = None,
    lake: LakeUri = None,
    at: At = "latest",
    as_json: AsJson = False,
) -> None:
    """Compare two runs, or cells of them, question by question: differences with intervals and tests."""
    from memlake.transforms.evaluate.compare import compare_runs

    found: dict[str, Any] = compare_runs(settings(lake=lake).lake, at, a, b, metric=metric)
    if as_json:
        output.document(found)
    else:
        studies.compared(found, a, b)


@app.command(name="gate")
def gate(
    study: WhichStudy,
    /,
    *,
    run_id: Annotated[str | None, Parameter(name="--run", help="The run (default: the study's latest).")] = None,
    lake: LakeUri = None,
    at: At = "latest",
    as_json: AsJson = False,
) -> None:
    """Hold a study's run against the numbers that the study states; exit code 4 when one left its tolerance."""
    from memlake.transforms.base.errors import GateError
    from memlake.transforms.evaluate.gate import gate_study

    try:
        made: dict[str, Any] = gate_study(settings(lake=lake).lake, at, study, run_id=run_id)
    except GateError as error:
        if not as_json:
            studies.gates(error.document or {})
        raise
    if as_json:
        output.document(made)
    else:
        studies.gates(made)
