"""Stage files in parallel, and put one manifest a shard."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from memlake.transforms.base.batch import Batch
from memlake.transforms.lake.stage.bundle import BundleWriter, StagedBundle, write_manifest

# By name and place: two shards of equal content are staged twice, and only one of the two manifests counts.
Keyed = tuple[tuple[str, int], StagedBundle]


class _StageFn(beam.DoFn):
    """One shard's files are open at a time: its batches come together when the stages are fused."""

    def __init__(self, lake: str) -> None:
        self.lake = lake
        self._writer: BundleWriter | None = None
        self._key = ("", 0)

    def process(self, batch: Batch) -> Iterator[Keyed]:
        key = (batch.shard, batch.index)
        if self._writer is not None and self._key != key:
            yield self._close(self._writer)
        if self._writer is None:
            self._writer, self._key = BundleWriter(Path(self.lake), batch.shard), key
        self._writer.write(batch)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._writer is not None:
            window = GlobalWindow()
            yield WindowedValue(self._close(self._writer), window.max_timestamp(), [window])

    def _close(self, writer: BundleWriter) -> Keyed:
        self._writer = None
        return self._key, writer.close()


@dataclass(eq=False)
class StageFiles(beam.PTransform):
    """PCollection[Batch] -> PCollection[str]: rows to uncommitted files; the names of the shards that are complete.

    Only names and counts cross the shuffle.
    """

    lake: str
    corpus: str

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return (
            batches
            | "StageBatches" >> beam.ParDo(_StageFn(self.lake))
            | "GatherBundles" >> beam.GroupByKey()
            | "PutManifest" >> beam.MapTuple(partial(_put, lake=self.lake, corpus=self.corpus))
        )


def _put(key: tuple[str, int], bundles: Iterable[StagedBundle], *, lake: str, corpus: str) -> str:
    return write_manifest(Path(lake), corpus, key[0], bundles).shard
