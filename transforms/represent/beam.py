"""Make units in parallel."""

from dataclasses import dataclass

import apache_beam as beam

from transforms.batch import Batch
from transforms.represent.batches import Wanted, build_units


@dataclass(eq=False)
class BuildUnits(beam.PTransform):
    """PCollection[Batch] -> PCollection[Batch]: units, provenance and links added where the lake lacks them."""

    wanted: Wanted

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return batches | "BuildUnitsOfBatch" >> beam.Map(_build, wanted=self.wanted)


def _build(batch: Batch, *, wanted: Wanted) -> Batch:
    return build_units(batch, wanted) if batch.tables else batch
