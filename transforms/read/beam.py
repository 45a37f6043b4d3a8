"""Read shards in parallel."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import apache_beam as beam

from memlake.transforms.base.batch import Batch
from memlake.transforms.base.beam import count
from memlake.transforms.base.conversation import ReadOptions
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.stage.manifest import is_finished
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.read.batches import BucketGoneError, read_batches
from memlake.transforms.read.gather import gather_shard


class _ReadShardFn(beam.DoFn):
    def __init__(self, base_parts: BaseParts, options: ReadOptions, run_id: str) -> None:
        self.base_parts, self.options, self.run_id = base_parts, options, run_id

    def process(self, shard: Shard) -> Iterator[Batch]:
        root = Path(self.base_parts.lake)
        progress = Progress(root / "staged", self.run_id)
        name = shard.name()
        progress.name_shard(shard.index, name, shard.size(root))
        if is_finished(root, name):
            count("shards_skipped")
            progress.finish_shard(shard.index)
            return
        with suppress(BucketGoneError):
            for batch in read_batches(shard, name, self.base_parts, self.options, partial(progress.read, shard.index)):
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

    base_parts: BaseParts
    options: ReadOptions
    run_id: str

    def expand(self, shards: beam.PCollection) -> beam.PCollection:
        return shards | "ReadShard" >> beam.ParDo(
            _ReadShardFn(self.base_parts, self.options, self.run_id)
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
