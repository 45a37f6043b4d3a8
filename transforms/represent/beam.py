"""Make units in parallel; those that a model makes are asked for several batches ahead."""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from memlake.transforms.base.batch import Batch
from memlake.transforms.llm.edge import Edge, EdgeSettings, open_edge
from memlake.transforms.represent.batches import BuildSpec, ask_units, build_units, to_ask
from memlake.transforms.represent.common.representation import Units

Asked = Future[Mapping[str, Units]]
# Batches whose calls are under way while the first of them is waited for: the last calls of one overlap the first of the
# next, so that the limit of calls in flight is what limits. Their turns are in memory, some megabytes each.
_AHEAD = 4


@dataclass(eq=False)
class BuildUnits(beam.PTransform):
    """PCollection[Batch] -> PCollection[Batch]: units, provenance and links added where the lake lacks them."""

    build: BuildSpec

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        if self.build.asks:
            assert self.build.edge is not None
            return batches | "AskModelForUnits" >> beam.ParDo(
                _AskModelFn(self.build, self.build.edge)
            ).with_output_types(Batch)
        return batches | "BuildUnitsOfBatch" >> beam.Map(_build, build=self.build).with_output_types(Batch)


def _build(batch: Batch, *, build: BuildSpec) -> Batch:
    return build_units(batch, build) if batch.tables else batch


class _AskModelFn(beam.DoFn):
    """Hands batches on in the order in which they came, whichever is answered first: a shard's stay together."""

    def __init__(self, build: BuildSpec, settings: EdgeSettings) -> None:
        self.build, self.settings = build, settings
        self._ahead: deque[tuple[Batch, Asked | None]] = deque()
        self._edge: Edge | None = None

    def setup(self) -> None:
        self._edge = open_edge(self.settings)

    def teardown(self) -> None:
        if self._edge is not None:
            self._edge.close()
            self._edge = None

    def process(self, batch: Batch) -> Iterator[Batch]:
        assert self._edge is not None
        # What is lacking is looked up here: on the edge's loop it would hold up the calls under way.
        lacking = to_ask(batch, self.build) if batch.tables else []
        asked = self._edge.submit(ask_units(lacking, self._edge)) if lacking else None
        self._ahead.append((batch, asked))
        while self._ahead and (len(self._ahead) > _AHEAD or self._is_ready()):
            yield self._next()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        window = GlobalWindow()
        while self._ahead:
            yield WindowedValue(self._next(), window.max_timestamp(), [window])

    def _is_ready(self) -> bool:
        asked = self._ahead[0][1]
        return asked is None or asked.done()

    def _next(self) -> Batch:
        batch, asked = self._ahead.popleft()
        if asked is None:
            return _build(batch, build=self.build)
        try:
            return build_units(batch, self.build, asked.result())
        except BaseException:
            for _, later in self._ahead:
                if later is not None:
                    later.cancel()
            self._ahead.clear()
            raise
