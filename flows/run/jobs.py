"""Beam jobs: the one pipeline, put together for each kind of shard and run on any runner."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import apache_beam as beam

from memlake.flows.run.progress import watching
from memlake.flows.run.runners import runner
from memlake.transforms.base.conversation import ReadOptions
from memlake.transforms.base.errors import JobFailedError
from memlake.transforms.base.shard import Shard
from memlake.transforms.embed.beam import EmbedUnits
from memlake.transforms.lake.stage.beam import StageFiles
from memlake.transforms.lake.stage.bundle import discard
from memlake.transforms.lake.stage.manifest import drop_manifest, finished_shards, read_manifest
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.link.batches import LinkWish
from memlake.transforms.link.beam import LinkUnits
from memlake.transforms.llm.driver import Models
from memlake.transforms.llm.protocol.model import ModelStoppedError
from memlake.transforms.read.beam import GatherTurns, ReadShards
from memlake.transforms.represent.batches import BuildSpec
from memlake.transforms.represent.beam import BuildUnits


@dataclass(frozen=True, slots=True)
class Execution:
    """Where jobs run."""

    runner: str = "fnapi"
    workers: int = 1
    runner_options: tuple[str, ...] = ()
    quiet: bool = True


@dataclass(frozen=True, slots=True)
class StageJob:
    """Stage some shards: read, represent, embed or link, write files, put manifests.

    Attributes:
        links: which links to make among stored units; None for none.
        models: those that the wanted edge leads to; what they left unanswered offline is never handed on.
    """

    lake: Lake
    wanted: BuildSpec
    run_id: str
    execution: Execution
    options: ReadOptions = field(default_factory=ReadOptions)
    total_bytes: int = 0
    models: Models = field(default_factory=Models)
    links: LinkWish | None = None

    def run(self, shards: Sequence[Shard]) -> list[str]:
        """Stage the shards and return the names of their manifests; shards that are finished already cost one look.

        Raises:
            ModelStoppedError: see `Models.check`; what was staged is thrown away.
        """
        with _watched(self, len(shards), "staging") as progress:
            self._run_pipeline(shards)
            names = progress.names(len(shards))
        try:
            self.models.check()
        except ModelStoppedError:
            for name in names:
                _throw_away(self.lake, name)
            raise
        return [part for name in names for part in finished_shards(self.lake.root, name) or [name]]

    def _run_pipeline(self, shards: Sequence[Shard]) -> None:
        wanted = self.wanted
        with _pipeline(self.execution) as pipeline:
            batches = (
                pipeline
                | "Shards" >> beam.Create(list(shards), reshuffle=False)
                | "SpreadShards" >> beam.Reshuffle()
                | "ReadShards" >> ReadShards(wanted.known, self.options, self.run_id)
            )
            if not any(shard.kind == "units" for shard in shards):
                batches = batches | "BuildUnits" >> BuildUnits(wanted)
            if wanted.embedder:
                batches = batches | "EmbedUnits" >> EmbedUnits(
                    wanted.known, wanted.embedder, wanted.fingerprint, edge=wanted.edge, workers=self.execution.workers
                )
            if self.links is not None:
                batches = batches | "LinkUnits" >> LinkUnits(wanted.known, self.links)
            _ = batches | "StageFiles" >> StageFiles(self.lake.uri, wanted.known.corpus)


@dataclass(frozen=True, slots=True)
class GatherJob:
    """Gather a-turn-a-line shards into buckets of whole conversations, as staged files."""

    lake: Lake
    run_id: str
    execution: Execution
    buckets: int
    options: ReadOptions = field(default_factory=ReadOptions)
    total_bytes: int = 0

    def run(self, shards: Sequence[Shard]) -> list[str]:
        """Gather the shards and return the names of the notes that say which files hold which bucket."""
        gather = GatherTurns(self.lake.uri, self.options, self.buckets, self.run_id)
        with _watched(self, len(shards), "gathering") as progress:
            with _pipeline(self.execution) as pipeline:
                _ = (
                    pipeline
                    | "Shards" >> beam.Create(list(shards), reshuffle=False)
                    | "SpreadShards" >> beam.Reshuffle()
                    | "GatherTurns" >> gather
                )
            return progress.names(len(shards))


def _throw_away(lake: Lake, shard: str) -> None:
    """Delete a shard's manifests and files: a later run would take it for finished."""
    for name in finished_shards(lake.root, shard):
        manifest = read_manifest(lake.staged, name)
        if manifest is not None:
            drop_manifest(lake.staged, manifest, beside=False)
            discard(lake.root, manifest)


@contextmanager
def _watched(job: StageJob | GatherJob, shards: int, label: str) -> Iterator[Progress]:
    """The notes of a job's workers, drawn on the terminal while it runs and removed however it ends."""
    progress = Progress(job.lake.staged, job.run_id)
    progress.open()
    try:
        asked = job.models.summary if isinstance(job, StageJob) and job.models.server else None
        with watching(progress, shards, job.total_bytes, label=label, quiet=job.execution.quiet, asked=asked):
            yield progress
    finally:
        progress.close()


@contextmanager
def _pipeline(execution: Execution) -> Iterator[beam.Pipeline]:
    """A pipeline that runs when the block ends.

    Raises:
        JobFailedError: a worker process failed; with the last line of what it reported.
    """
    try:
        with runner(execution.runner, workers=execution.workers, options=execution.runner_options) as pipeline:
            yield pipeline
    except RuntimeError as error:
        # What fails in another process comes back as the text of its traceback.
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise JobFailedError(
            f"the pipeline failed: {lines[-1].strip()}", hint="mend the cause and run it again"
        ) from error
