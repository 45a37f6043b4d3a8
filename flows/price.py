"""Price: what a run would ask of models, counted from the stored turns before anything is paid."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from flows.models import ModelSettings, prices_of
from flows.settings import RepresentSettings
from flows.stored import stored_shards
from transforms.errors import UsageError
from transforms.lake.known import Known
from transforms.lake.lake import Lake, open_lake
from transforms.lake.snapshot import Snapshot
from transforms.llm.cache import ReplyCache
from transforms.llm.estimate import Estimate, estimate
from transforms.llm.tokens import find_counter
from transforms.read.batches import read_batches
from transforms.read.conversation import ReadOptions
from transforms.represent.batches import Wanted, to_ask
from transforms.represent.catalogue import asking
from transforms.represent.representation import Making

# What is read at a time is a batch; how many of them a shard has makes no difference here.
_SHARD_BYTES = 128 << 20


def price_represent(settings: RepresentSettings) -> dict[str, object]:
    """The calls that `memlake represent` would make and their price; the document of `--plan --json`.

    Raises:
        NotFoundError: no such lake, corpus or representation.
        UsageError: none of the representations asks a model.
    """
    makings = settings.makings()
    if not any(map(asking, makings)):
        raise UsageError(
            f"representations={', '.join(making.name for making in makings)}: none asks a model, so none has a price",
            hint="leave --plan out",
        )
    lake = open_lake(settings.lake)
    base = lake.snapshot()
    return {
        "corpus": settings.corpus,
        "snapshot_id": base.snapshot_id,
        "representations": [
            price_making(lake, base, settings.corpus, making, settings.models) for making in makings if asking(making)
        ],
    }


def price_making(lake: Lake, base: Snapshot, corpus: str, making: Making, models: ModelSettings) -> dict[str, object]:
    """The calls of one representation that asks a model, of the conversations that lack it."""
    how = asking(making)
    assert how is not None
    counter, cache, prices = find_counter(), ReplyCache(lake.root), prices_of(models)
    wanted = Wanted(Known(str(lake.root), base.snapshot_id, corpus), (making,))
    total = Estimate.nothing(counter.name)
    conversations = 0
    for turns in _lacking_turns(base, wanted):
        conversations += pc.count_distinct(turns["conversation_id"]).as_py()
        requests = how.first_requests(making, turns)
        total += estimate(requests, counter, prices, cache, provider=str(making.settings["provider"]))
    return {"representation": making.name, "model": making.settings["model"], "conversations": conversations} | (
        total.document()
    )


def _lacking_turns(base: Snapshot, wanted: Wanted) -> Iterator[pa.Table]:
    """Turns of the conversations that lack the one representation that is wanted, some megabytes at a time."""
    known = wanted.known
    for shard in stored_shards(base, "turns", known.corpus, "", _SHARD_BYTES):
        for batch in read_batches(shard, shard.name(), known, ReadOptions()):
            for _, turns in to_ask(batch, wanted) if batch.tables else ():
                yield turns
