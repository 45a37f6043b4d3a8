"""`memlake ingest`: transcripts in, one new snapshot out."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

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
    configuration,
    run,
    split,
)
from flows.config import CHUNK_HINT
from transforms.errors import UsageError


def ingest(
    sources: Annotated[tuple[str, ...], Parameter(negative="", help="Files, folders, globs or file:// URIs.")],
    /,
    *,
    corpus: Corpus,
    format: Annotated[str, Parameter(help="The sources' format; auto looks at their content.")] = "auto",  # noqa: A002
    representations: Names = None,
    embedder: Embedder = None,
    chunk_size: Annotated[int | None, Parameter(help="Characters of a chunk (default 512).")] = None,
    overlap: Annotated[int | None, Parameter(help="Characters that neighbouring chunks share (default 100).")] = None,
    corrections: Annotated[Path | None, Parameter(help="A file of corrected labels for LoCoMo.")] = None,
    allow_dead: Annotated[float | None, Parameter(help="Share of files that may die (default 0).")] = None,
    allow_dead_records: Annotated[float | None, Parameter(help="Share of records that may die (default 0.01).")] = None,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False, help="Read and count, write nothing.")] = False,
    workers: Workers = None,
    runner: Runner = None,
    runner_option: RunnerOptions = None,
    prefect: Prefect = None,
    lock_timeout: LockTimeout = None,
    lake: LakeUri = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read transcripts, make units and vectors, publish one snapshot; what is unchanged costs next to nothing.

    Ends with exit code 3 when it was done but more files or records died than is allowed; the rest has landed.
    """
    configured = configuration(
        lake=lake,
        representations=split(representations),
        embedder=embedder,
        chunk_size=chunk_size,
        overlap=overlap,
        allow_dead=allow_dead,
        allow_dead_records=allow_dead_records,
        workers=workers,
        runner=runner,
        runner_options=runner_option,
        lock_timeout=lock_timeout,
        prefect=prefect,
    )
    chosen = configured.settings
    if fault := configured.chunk_fault():
        raise UsageError(fault, hint=CHUNK_HINT)
    from flows.ingest import ingest as flow
    from flows.settings import IngestSettings

    made = run(
        flow,
        IngestSettings(
            lake=chosen.lake,
            corpus=corpus,
            sources=sources,
            format=format,
            representations=chosen.representations,
            embedder=chosen.embedder,
            workers=chosen.workers,
            runner=chosen.runner,
            runner_options=chosen.runner_options,
            allow_dead=chosen.allow_dead,
            allow_dead_records=chosen.allow_dead_records,
            corrections=None if corrections is None else str(corrections),
            dry_run=dry_run,
            lock_timeout_s=chosen.lock_timeout,
            chunk_size=chosen.chunk_size,
            overlap=chosen.overlap,
            quiet=quiet,
        ),
        name="ingest",
        prefect=chosen.prefect,
        quiet=quiet,
    )
    told.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
