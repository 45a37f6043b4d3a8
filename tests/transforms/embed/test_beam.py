"""The stage in a pipeline: what it counts, and how batches travel."""

import pickle

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.coders import registry
from small_tables import rows_of

from memlake.schemas import UNITS
from memlake.transforms.base.batch import PARTS_SEEN, Batch
from memlake.transforms.base.beam import BatchCoder
from memlake.transforms.embed import vectors
from memlake.transforms.embed.beam import EmbedUnits
from memlake.transforms.embed.catalogue import card_of
from memlake.transforms.embed.embedder import fingerprint
from memlake.transforms.embed.memo import Memo


def batch_of(name: str, *texts: str) -> Batch:
    units = [
        {"corpus": "c", "conversation_id": name, "representation": "r", "unit_id": f"{name}-{place}", "key_text": text}
        for place, text in enumerate(texts)
    ]
    parts = [{"conversation_id": name, "part": "units:r", "content_hash": name, "rows": len(texts), "staged": False}]
    return Batch(
        "shard",
        tables={"units": rows_of(UNITS, units)},
        parts=pa.Table.from_pylist(parts, schema=PARTS_SEEN),
        seen={"units": len(texts)},
    )


BATCHES = [batch_of("a", "one", "two", "one", ""), batch_of("b", "two", "three"), Batch("shard", total=2)]


def test_texts_that_come_again_are_counted_as_seen_and_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_memo", Memo())
    made_by = fingerprint(card_of("static"))
    pipeline = beam.Pipeline("FnApiRunner")
    _ = (
        pipeline
        | beam.Create([pickle.dumps(batch) for batch in BATCHES], reshuffle=False)
        | beam.Map(pickle.loads)
        | EmbedUnits("static", made_by)
        | beam.Map(lambda batch: None if batch.total else batch.vectors["r__static"].num_rows)
    )
    result = pipeline.run()
    result.wait_until_finish()
    counted = {counter.key.metric.name: counter.committed for counter in result.metrics().query()["counters"]}
    assert (counted["texts"], counted["texts_embedded"]) == (4, 3)


def test_a_batch_travels_whole_and_is_measured_without_being_encoded() -> None:
    coder = registry.get_coder(Batch)
    assert isinstance(coder, BatchCoder)
    for batch in BATCHES:
        back = coder.decode(coder.encode(batch))
        assert (back.tables, back.parts, back.total, back.seen) == (batch.tables, batch.parts, batch.total, batch.seen)
    assert coder.estimate_size(BATCHES[0]) > coder.estimate_size(BATCHES[1]) > coder.estimate_size(BATCHES[2]) == 0
