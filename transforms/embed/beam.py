"""Embed units in parallel."""

from dataclasses import dataclass

import apache_beam as beam

from transforms.batch import Batch
from transforms.embed.batches import embed_batch
from transforms.embed.catalogue import load
from transforms.lake.known import Known


class _EmbedBatchFn(beam.DoFn):
    def __init__(self, known: Known, embedder: str, fingerprint: str) -> None:
        self.known, self.embedder, self.fingerprint = known, embedder, fingerprint

    def setup(self) -> None:
        load(self.embedder)  # once a process, before the first bundle

    def process(self, batch: Batch) -> list[Batch]:
        if not batch.tables:
            return [batch]
        return [embed_batch(batch, self.known, embedder=self.embedder, fingerprint=self.fingerprint)]


@dataclass(eq=False)
class EmbedUnits(beam.PTransform):
    """PCollection[Batch] -> PCollection[Batch]: vectors added where the lake lacks them."""

    known: Known
    embedder: str
    fingerprint: str

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return batches | "EmbedBatch" >> beam.ParDo(_EmbedBatchFn(self.known, self.embedder, self.fingerprint))
