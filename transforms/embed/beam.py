"""Embed units in parallel."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apache_beam as beam

from memlake.transforms.base.batch import Batch
from memlake.transforms.base.beam import count
from memlake.transforms.embed.batches import embed_batch
from memlake.transforms.embed.catalogue import check_embedder, opened
from memlake.transforms.embed.run_torch import share_threads

if TYPE_CHECKING:
    from memlake.transforms.llm.edge import EdgeSettings


class _EmbedBatchFn(beam.DoFn):
    def __init__(self, embedder: str, fingerprint: str, edge: "EdgeSettings | None", workers: int) -> None:
        self.embedder, self.fingerprint, self.edge, self.workers = embedder, fingerprint, edge, workers
        self._held: ExitStack | None = None

    def setup(self) -> None:
        if check_embedder(self.embedder).is_torch:
            share_threads(self.workers)
        self._held = ExitStack()
        # Once a process, before the first bundle; held until the end, so that its server's edge stays open.
        self._held.enter_context(opened(self.embedder, self.edge))

    def process(self, batch: Batch) -> list[Batch]:
        if not batch.tables:
            return [batch]
        before = dict(batch.seen)
        made = embed_batch(batch, embedder=self.embedder, fingerprint=self.fingerprint, edge=self.edge)
        for what in ("texts", "texts_embedded"):
            count(what, made.seen.get(what, 0) - before.get(what, 0))
        return [made]

    def teardown(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


@dataclass(eq=False)
class EmbedUnits(beam.PTransform):
    """PCollection[Batch] -> PCollection[Batch]: vectors added where the lake lacks them.

    Attributes:
        edge: the run's server, for openai:MODEL.
        workers: how many processes share the cores.
    """

    embedder: str
    fingerprint: str
    edge: "EdgeSettings | None" = None
    workers: int = 1

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        embed = _EmbedBatchFn(self.embedder, self.fingerprint, self.edge, self.workers)
        return batches | "EmbedBatch" >> beam.ParDo(embed).with_output_types(Batch)
