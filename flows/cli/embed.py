"""`memlake embed`: vectors of stored units."""

from flows.cli import told
from flows.cli.options import (
    AsJson,
    Corpus,
    Embedder,
    LakeUri,
    LockTimeout,
    Names,
    Prefect,
    Quiet,
    Runner,
    RunnerOptions,
    Workers,
    run,
    settings,
    split,
)


def embed(
    *,
    corpus: Corpus,
    embedder: Embedder = None,
    representations: Names = None,
    workers: Workers = None,
    runner: Runner = None,
    runner_option: RunnerOptions = None,
    prefect: Prefect = None,
    lock_timeout: LockTimeout = None,
    lake: LakeUri = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Embed the stored units of every representation, or of those named, and publish one snapshot."""
    chosen = settings(
        lake=lake,
        embedder=embedder,
        workers=workers,
        runner=runner,
        runner_options=runner_option,
        lock_timeout=lock_timeout,
        prefect=prefect,
    )
    from flows.embed import embed as flow
    from flows.settings import EmbedSettings

    made = run(
        flow,
        EmbedSettings(
            lake=chosen.lake,
            corpus=corpus,
            embedder=chosen.embedder,
            representations=split(representations) or (),
            workers=chosen.workers,
            runner=chosen.runner,
            runner_options=chosen.runner_options,
            lock_timeout_s=chosen.lock_timeout,
            quiet=quiet,
        ),
        name="embed",
        prefect=chosen.prefect,
        quiet=quiet,
    )
    told.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
