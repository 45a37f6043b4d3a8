"""`memlake ingest`: transcripts in, one new snapshot out."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import (
    AllowDeadRecords,
    AsJson,
    Corpus,
    ModelFlags,
    Names,
    PipelineFlags,
    Quiet,
    configuration,
    run,
    split,
)
from memlake.flows.cli.printing import summaries
from memlake.flows.run.config import CHUNK_HINT
from memlake.transforms.base.errors import UsageError

_NO_PIPELINE, _NO_MODEL = PipelineFlags(), ModelFlags()


def ingest(
    sources: Annotated[tuple[str, ...], Parameter(negative="", help="Files, folders, globs or file:// URIs.")],
    /,
    *,
    corpus: Corpus,
    format: Annotated[str, Parameter(help="The sources' format; auto looks at their content.")] = "auto",  # noqa: A002
    representations: Names = None,
    chunk_size: Annotated[int | None, Parameter(help="Characters of a chunk (default 512).")] = None,
    overlap: Annotated[int | None, Parameter(help="Characters that neighbouring chunks share (default 100).")] = None,
    corrections: Annotated[Path | None, Parameter(help="A file of corrected labels for LoCoMo.")] = None,
    allow_dead: Annotated[float | None, Parameter(help="Share of files that may die (default 0).")] = None,
    allow_dead_records: AllowDeadRecords = None,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False, help="Read and count, write nothing.")] = False,
    pipeline: PipelineFlags = _NO_PIPELINE,
    models: ModelFlags = _NO_MODEL,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read transcripts, make units and vectors, publish one snapshot; what is unchanged costs next to nothing.

    Ends with exit code 3 when it was done but more files or records died than is allowed; the rest has landed.
    """
    configured = configuration(
        pipeline,
        models,
        representations=split(representations),
        chunk_size=chunk_size,
        overlap=overlap,
        allow_dead=allow_dead,
        allow_dead_records=allow_dead_records,
    )
    chosen = configured.settings
    if fault := configured.chunk_fault():
        raise UsageError(fault, hint=CHUNK_HINT)
    from memlake.flows.ingest import ingest as flow
    from memlake.flows.run.settings import IngestSettings, model_settings, pipeline_settings

    wish = IngestSettings(
        sources=sources,
        format=format,
        representations=chosen.representations,
        allow_dead=chosen.allow_dead,
        allow_dead_records=chosen.allow_dead_records,
        corrections=None if corrections is None else str(corrections),
        dry_run=dry_run,
        chunk_size=chosen.chunk_size,
        overlap=chosen.overlap,
        models=model_settings(chosen),
        **pipeline_settings(chosen, corpus=corpus, quiet=quiet),
    )
    made = run(flow, wish, name="ingest", prefect=chosen.prefect, quiet=quiet)
    summaries.landed(made, lake=chosen.lake, corpus=corpus, as_json=as_json, quiet=quiet)
