"""Link units in parallel."""

from dataclasses import dataclass

import apache_beam as beam

from transforms.batch import Batch
from transforms.beam import count
from transforms.lake.known import Known
from transforms.link.batches import LinkWish, link_batch


@dataclass(eq=False)
class LinkUnits(beam.PTransform):
    """PCollection[Batch] -> PCollection[Batch]: stored units go, links among them come where the lake lacks them."""

    known: Known
    wish: LinkWish

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return batches | "LinkBatch" >> beam.Map(_link, known=self.known, wish=self.wish).with_output_types(Batch)


def _link(batch: Batch, *, known: Known, wish: LinkWish) -> Batch:
    if not batch.tables:
        return batch
    made = link_batch(batch, known, wish)
    count("links", made.tables["links"].num_rows)
    return made
