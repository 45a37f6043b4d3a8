"""Jobs as data: what is to be done with shards, which any process can do; and Beam, which does it unless told otherwise."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import length_hint
from pathlib import Path
from typing import ClassVar

import apache_beam as beam

from memlake.flows.run.progress import watching
from memlake.flows.run.runners import runner
from memlake.transforms.base.conversation import ReadOptions
from memlake.transforms.base.errors import JobFailedError
from memlake.transforms.base.shard import Shard
from memlake.transforms.embed.beam import EmbedUnits
from memlake.transforms.lake.stage.beam import StageFiles
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.link.batches import LinkWish
from memlake.transforms.link.beam import LinkUnits
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
    """

    label: ClassVar[str] = "staging"

    build: BuildSpec
    run_id: str
    execution: Execution
    options: ReadOptions = field(default_factory=ReadOptions)
    links: LinkWish | None = None

    @property
    def lake(self) -> str:
        """The lake's root."""
        return self.build.base_parts.lake

    def wire(self, shards: beam.PCollection) -> beam.PCollection:
        """PCollection[Shard] -> PCollection[str]: the names of the shards whose manifests were put now."""
        build = self.build
        batches = shards | "ReadShards" >> ReadShards(build.base_parts, self.options, self.run_id)
        if build.specs:
            batches = batches | "BuildUnits" >> BuildUnits(build)
        if build.embedder:
            batches = batches | "EmbedUnits" >> EmbedUnits(
                build.embedder, build.fingerprint, edge=build.edge, workers=self.execution.workers
            )
        if self.links is not None:
            batches = batches | "LinkUnits" >> LinkUnits(build.base_parts, self.links)
        return batches | "StageFiles" >> StageFiles(self.lake, build.base_parts.corpus)


@dataclass(frozen=True, slots=True)
class GatherJob:
    """Gather a-turn-a-line shards into buckets of whole conversations, as staged files."""

    label: ClassVar[str] = "gathering"

    lake: str
    run_id: str
    execution: Execution
    buckets: int
    options: ReadOptions = field(default_factory=ReadOptions)

    def wire(self, shards: beam.PCollection) -> beam.PCollection:
        """PCollection[Shard] -> PCollection[str]: the names of the notes that say which files hold which bucket."""
        return shards | "GatherTurns" >> GatherTurns(self.lake, self.options, self.buckets, self.run_id)


Job = StageJob | GatherJob
# Does a job on the shards that it takes, of which there may be no end; the names of what was put for each, in order.
Executor = Callable[[Job, Iterable[Shard]], list[str]]


def run_in_beam(job: Job, shards: Iterable[Shard]) -> list[str]:
    """Do a job on the runner that its execution names; any process that reaches the lake can, for any of its shards.

    Shards that are done already cost one look.

    Raises:
        JobFailedError: a worker process failed; with the last line of what it reported.
    """
    taken = list(shards)
    if not taken:
        return []
    notes = Progress(Path(job.lake) / "staged", job.run_id)
    notes.open()
    with _pipeline(job.execution) as pipeline:
        job.wire(pipeline | "Shards" >> beam.Create(taken, reshuffle=False) | "SpreadShards" >> beam.Reshuffle())
    return notes.names(shard.index for shard in taken)


def carry_out(
    job: Job,
    shards: Iterable[Shard],
    execute: Executor = run_in_beam,
    *,
    total_bytes: int | None = None,
    asked: Callable[[], str] | None = None,
) -> list[str]:
    """Have a job done by an executor: its workers' notes are drawn on the terminal, and removed however it ends.

    Args:
        total_bytes: of all shards' input; None where nobody knows.
        asked: what models were asked so far, where any is.
    """
    progress = Progress(Path(job.lake) / "staged", job.run_id)
    progress.open()
    try:
        # A list says how many shards it has, a stream does not.
        count = length_hint(shards) or None
        with watching(progress, count, total_bytes, label=job.label, quiet=job.execution.quiet, asked=asked):
            return execute(job, shards)
    finally:
        progress.close()


@contextmanager
def _pipeline(execution: Execution) -> Iterator[beam.Pipeline]:
    """A pipeline that runs when the block ends.

    Raises:
        JobFailedError: see `run_in_beam`.
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
