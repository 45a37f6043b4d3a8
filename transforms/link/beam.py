"""Link units in parallel."""

from dataclasses import dataclass

import apache_beam as beam

from memlake.transforms.base.batch import Batch
from memlake.transforms.base.beam import count
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.link.batches import LinkSpec, link_batch


@dataclass(eq=False)
class LinkUnits(beam.PTransform):
    """PCollection[Batch] -> PCollection[Batch]: stored units go, links among them come where the lake lacks them."""

    base_parts: BaseParts
    spec: LinkSpec

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return batches | "LinkBatch" >> beam.Map(_link, base_parts=self.base_parts, spec=self.spec).with_output_types(
            Batch
        )


def _link(batch: Batch, *, base_parts: BaseParts, spec: LinkSpec) -> Batch:
    if not batch.tables:
        return batch
    made = link_batch(batch, base_parts, spec)
    count("links", made.tables["links"].num_rows)
    return made
