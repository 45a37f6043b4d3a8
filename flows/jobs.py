"""Beam jobs: the one pipeline, put together for each kind of shard and run on any runner."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import apache_beam as beam

from flows.progress import watching
from flows.runners import runner
from transforms.embed.beam import EmbedUnits
from transforms.lake.beam import StageFiles
from transforms.lake.lake import Lake
from transforms.lake.manifest import finished_shards
from transforms.lake.progress import Progress
from transforms.read.beam import GatherTurns, ReadShards
from transforms.read.conversation import ReadOptions
from transforms.represent.batches import Wanted
from transforms.represent.beam import BuildUnits
from transforms.shard import Shard


@dataclass(frozen=True, slots=True)
class Execution:
    """Where jobs run."""

    runner: str = "fnapi"
    workers: int = 1
    runner_options: tuple[str, ...] = ()
    quiet: bool = True


@dataclass(frozen=True, slots=True)
class StageJob:
    """Stage some shards: read, represent, embed, write files, put manifests."""

    lake: Lake
    wanted: Wanted
    run_id: str
    execution: Execution
    options: ReadOptions = field(default_factory=ReadOptions)
    total_bytes: int = 0

    def run(self, shards: Sequence[Shard]) -> list[str]:
        """Stage the shards and return the names of their manifests; shards that are finished already cost one look."""
        progress = Progress(self.lake.staged, self.run_id)
        progress.open()
        with watching(progress, len(shards), self.total_bytes, label="staging", quiet=self.execution.quiet):
            self._run_pipeline(shards)
        names = progress.names(len(shards))
        progress.close()
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
                batches = batches | "EmbedUnits" >> EmbedUnits(wanted.known, wanted.embedder, wanted.fingerprint)
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
        progress = Progress(self.lake.staged, self.run_id)
        progress.open()
        gather = GatherTurns(self.lake.uri, self.options, self.buckets, self.run_id)
        with (
            watching(progress, len(shards), self.total_bytes, label="gathering", quiet=self.execution.quiet),
            _pipeline(self.execution) as pipeline,
        ):
            _ = (
                pipeline
                | "Shards" >> beam.Create(list(shards), reshuffle=False)
                | "SpreadShards" >> beam.Reshuffle()
                | "GatherTurns" >> gather
            )
        names = progress.names(len(shards))
        progress.close()
        return names


def _pipeline(execution: Execution):  # type: ignore[no-untyped-def]
    return runner(execution.runner, workers=execution.workers, options=execution.runner_options)
