"""Price: what a run would ask of models, counted from the stored turns before anything is paid."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.conversation import ReadOptions
from memlake.transforms.lake.query.stored_shards import stored_shards
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import prices_of
from memlake.transforms.llm.estimate import Estimate, estimate
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.read.batches import read_batches
from memlake.transforms.represent.batches import BuildSpec, to_ask
from memlake.transforms.represent.catalogue import asking
from memlake.transforms.represent.common.representation import RepresentationSpec
from memlake.transforms.text.token_counts import find_counter

# What is read at a time is a batch; how many of them a shard has makes no difference here.
_SHARD_BYTES = 128 << 20


def price_representation(
    lake: Lake, base: Snapshot, corpus: str, spec: RepresentationSpec, models: ModelSettings
) -> dict[str, object]:
    """The calls of one representation that asks a model, of the conversations that lack it."""
    how = asking(spec)
    assert how is not None
    counter, cache, prices = find_counter(), ReplyCache(lake.root), prices_of(models)
    build = BuildSpec(BaseParts(str(lake.root), base.snapshot_id, corpus), (spec,))
    total = Estimate.nothing(counter.name)
    conversations = 0
    for turns in _lacking_turns(base, build):
        conversations += pc.count_distinct(turns["conversation_id"]).as_py()
        requests = how.first_requests(spec, turns)
        total += estimate(requests, counter, prices, cache, provider=str(spec.settings["provider"]))
    return {"representation": spec.name, "model": spec.settings["model"], "conversations": conversations} | (
        total.document()
    )


def _lacking_turns(base: Snapshot, build: BuildSpec) -> Iterator[pa.Table]:
    """Turns of the conversations that lack the one representation of `build`, some megabytes at a time."""
    base_parts = build.base_parts
    for shard in stored_shards(base, "turns", base_parts.corpus, "", _SHARD_BYTES):
        for batch in read_batches(shard, shard.name(), base_parts, ReadOptions()):
            for _, turns in to_ask(batch, build) if batch.tables else ():
                yield turns
