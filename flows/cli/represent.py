"""`memlake represent`: further representations of turns that the lake holds."""

from typing import Annotated

from cyclopts import Parameter

from flows.cli import told
from flows.cli.options import (
    AsJson,
    Corpus,
    Embedder,
    LakeUri,
    LockTimeout,
    Prefect,
    Quiet,
    Runner,
    RunnerOptions,
    Workers,
    run,
    settings,
    split,
)


def represent(
    names: Annotated[
        tuple[str, ...],
        Parameter(help="chunks, turns, sentences, sessions, rule_summary; NAME-WORD:KEY=VALUE for other settings."),
    ],
    /,
    *,
    corpus: Corpus,
    embedder: Embedder = None,
    workers: Workers = None,
    runner: Runner = None,
    runner_option: RunnerOptions = None,
    prefect: Prefect = None,
    lock_timeout: LockTimeout = None,
    lake: LakeUri = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make representations from stored turns, embed them, publish one snapshot."""
    chosen = settings(
        lake=lake,
        embedder=embedder,
        workers=workers,
        runner=runner,
        runner_options=runner_option,
        lock_timeout=lock_timeout,
        prefect=prefect,
    )
    from flows.represent import represent as flow
    from flows.settings import RepresentSettings

    made = run(
        flow,
        RepresentSettings(
            lake=chosen.lake,
            corpus=corpus,
            names=split(names) or (),
            embedder=chosen.embedder,
            workers=chosen.workers,
            runner=chosen.runner,
            runner_options=chosen.runner_options,
            lock_timeout_s=chosen.lock_timeout,
            quiet=quiet,
        ),
        name="represent",
        prefect=chosen.prefect,
        quiet=quiet,
    )
    told.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
