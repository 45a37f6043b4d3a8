"""Read shards in parallel."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import apache_beam as beam

from transforms.batch import Batch
from transforms.beam import count
from transforms.lake.known import Known
from transforms.lake.manifest import finished_shards
from transforms.lake.progress import Progress
from transforms.read.batches import BucketGoneError, read_batches
from transforms.read.conversation import ReadOptions
from transforms.read.gathering import gather_shard
from transforms.shard import Shard


class _ReadShardFn(beam.DoFn):
    def __init__(self, known: Known, options: ReadOptions, run_id: str) -> None:
        self.known, self.options, self.run_id = known, options, run_id

    def process(self, shard: Shard) -> Iterator[Batch]:
        root = Path(self.known.lake)
        progress = Progress(root / "staged", self.run_id)
        name = shard.name()
        progress.name_shard(shard.index, name, shard.size(root))
        if finished_shards(root, name):
            count("shards_skipped")
            progress.finish_shard(shard.index)
            return
        with suppress(BucketGoneError):
            for batch in read_batches(shard, name, self.known, self.options, partial(progress.read, shard.index)):
                count("batches")
                for what, number in batch.seen.items():
                    count(what, number)
                for letter in batch.dead:
                    count(f"{letter.outcome}_{letter.reason}")
                yield replace(batch, index=shard.index)
                progress.add(batch)
        progress.finish_shard(shard.index)


@dataclass(eq=False)
class ReadShards(beam.PTransform):
    """PCollection[Shard] -> PCollection[Batch]: turns, questions and evidence, a few megabytes a batch.

    A shard whose manifest is there already yields nothing; the run notes which manifest is whose.
    """

    known: Known
    options: ReadOptions
    run_id: str

    def expand(self, shards: beam.PCollection) -> beam.PCollection:
        return shards | "ReadShard" >> beam.ParDo(
            _ReadShardFn(self.known, self.options, self.run_id)
        ).with_output_types(Batch)


@dataclass(eq=False)
class GatherTurns(beam.PTransform):
    """PCollection[Shard] -> PCollection[str]: turns of a-turn-a-line shards as staged files, bucketed by conversation.

    The names are those of the notes that say which files hold which bucket.
    """

    lake: str
    options: ReadOptions
    buckets: int
    run_id: str

    def expand(self, shards: beam.PCollection) -> beam.PCollection:
        return shards | "GatherShard" >> beam.Map(
            gather_shard, lake=self.lake, options=self.options, buckets=self.buckets, run_id=self.run_id
        )
