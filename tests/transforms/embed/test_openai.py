"""Vectors of a server, over HTTP on loopback: what lands, what does not, what is asked again, what is paid."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from edges import QUICK
from openai_server import Faults, OpenAIServer
from small_tables import rows_of

from memlake.schemas import UNITS
from memlake.transforms.base.batch import PARTS_SEEN, Batch
from memlake.transforms.base.errors import EmbedderMismatchError, UsageError
from memlake.transforms.embed import openai
from memlake.transforms.embed.batches import embed_batch
from memlake.transforms.embed.catalogue import card_of, opened
from memlake.transforms.embed.embedder import Failure, fingerprint
from memlake.transforms.lake.storage.parts import derived_part_hash
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import quota_server
from memlake.transforms.llm.protocol.model import ModelStoppedError

NAME = "openai:embedder-1"


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimension=8) as running:
        yield running


@pytest.fixture
def fresh(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    monkeypatch.setattr(openai, "_dimensions", {})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    server.set(faults=Faults(), context_tokens=None, dimension=8)
    server.reset()
    return server


@contextmanager
def edge_of(server: OpenAIServer, root: Path, **fields: Any) -> Iterator[EdgeSettings]:
    with quota_server(Limits(in_flight=8)) as quota:
        yield EdgeSettings(str(root), "run-1", server.url, "test", quota.address, retry=QUICK, **fields)


def batch_of(**texts: str) -> Batch:
    """A batch of one conversation a name, each with one unit of that text."""
    units = [
        {"corpus": "c", "conversation_id": name, "representation": "r", "unit_id": f"u-{name}", "key_text": text}
        for name, text in texts.items()
    ]
    parts = [
        {"conversation_id": name, "part": "units:r", "content_hash": f"h-{name}", "rows": 1, "staged": False}
        for name in texts
    ]
    return Batch("shard", tables={"units": rows_of(UNITS, units)}, parts=pa.Table.from_pylist(parts, schema=PARTS_SEEN))


def embedded(settings: EdgeSettings, **texts: str) -> Batch:
    made_by = fingerprint(card_of(NAME, settings))
    return embed_batch(batch_of(**texts), embedder=NAME, fingerprint=made_by, edge=settings)


def test_vectors_are_the_servers_and_the_dimension_is_learnt_and_paid_once(fresh: OpenAIServer, tmp_path: Path) -> None:
    with edge_of(fresh, tmp_path) as settings:
        card = card_of(NAME, settings)
        assert (card.embedder, card.model, card.dimension, card.normalised) == (
            "openai-embedder-1", "test/embedder-1", 8, False,
        )  # fmt: skip
        with opened(NAME, settings) as embedder:
            vectors = embedder.embed(["a", "b", "{0} 日本語", "a"])
        assert vectors.dtype == np.float32
        assert vectors[0].tobytes() == vectors[3].tobytes()
        assert len({row.tobytes() for row in vectors}) == 3
    asked = [request.body["input"] for request in fresh.requests()]
    assert asked == [["dimension"], ["a", "b", "{0} 日本語"]]
    openai._dimensions.clear()
    with edge_of(fresh, tmp_path, offline=True) as settings, opened(NAME, settings) as embedder:
        assert embedder.embed(["b", "a"]).tobytes() == vectors[[1, 0]].tobytes()
    assert len(fresh.requests()) == 2


def test_a_text_that_is_too_long_has_no_vector_and_a_letter_that_says_so(fresh: OpenAIServer, tmp_path: Path) -> None:
    fresh.set(context_tokens=50)
    with edge_of(fresh, tmp_path) as settings:
        made = embedded(settings, a="short", b="long words " * 200, c="also short")
    table = made.vectors["r__openai-embedder-1"]
    assert [row is None for row in table["vector"].to_pylist()] == [False, True, False]
    (letter,) = made.dead
    assert (letter.reason, letter.scope, letter.outcome, letter.stage) == ("too_long", "unit", "kept", "embed")
    assert letter.error.startswith("unit=u-b: no vector: ")
    assert len(letter.error) > len("unit=u-b: no vector: ")


def hashes(made: Batch) -> dict[str, str]:
    return {
        row["conversation_id"]: row["content_hash"]
        for row in made.parts.to_pylist()
        if row["part"] == "vectors:r__openai-embedder-1"
    }


def test_what_may_pass_leaves_the_conversation_to_the_next_run_and_the_rest_done(
    fresh: OpenAIServer, tmp_path: Path
) -> None:
    with edge_of(fresh, tmp_path) as settings:
        made_by = fingerprint(card_of(NAME, settings))
        done = {name: derived_part_hash(f"h-{name}", made_by) for name in ("a", "b", "c")}
        first = embedded(settings, a="one")
        fresh.set(faults=Faults(marked=(("two", "server_error"),)))
        second = embedded(settings, b="two", c="   ")
        assert hashes(first) == {"a": done["a"]}
        assert hashes(second)["c"] == done["c"]
        assert hashes(second)["b"] != done["b"]
        assert hashes(embedded(settings, b="two")) == {"b": hashes(second)["b"]}
        assert sorted(letter.reason for letter in second.dead) == ["blank_text", "transient"]
        fresh.set(faults=Faults())
        third = embedded(settings, b="two")
    assert hashes(third) == {"b": done["b"]}
    assert third.vectors["r__openai-embedder-1"]["vector"].null_count == 0


def test_offline_what_is_missing_has_a_reason_and_waits(fresh: OpenAIServer, tmp_path: Path) -> None:
    with edge_of(fresh, tmp_path) as settings:
        embedded(settings, a="one")
    fresh.reset()
    with edge_of(fresh, tmp_path, offline=True) as settings:
        made = embedded(settings, a="one", b="two")
        done = derived_part_hash("h-b", fingerprint(card_of(NAME, settings)))
    assert made.vectors["r__openai-embedder-1"]["vector"].null_count == 1
    assert [letter.reason for letter in made.dead] == ["missing"]
    assert hashes(made)["b"] != done
    assert fresh.requests() == []


def test_a_server_that_does_not_know_the_model_stops_the_run(fresh: OpenAIServer, tmp_path: Path) -> None:
    fresh.set(faults=Faults(marked=(("dimension", "no_model"),)))
    with edge_of(fresh, tmp_path) as settings, pytest.raises(ModelStoppedError) as stopped:
        card_of(NAME, settings)
    assert stopped.value.code == "model_refused"
    with edge_of(fresh, tmp_path, offline=True) as settings, pytest.raises(ModelStoppedError) as stopped:
        card_of(NAME, settings)
    assert stopped.value.code == "model_offline"


def test_vectors_that_change_their_dimension_are_refused(fresh: OpenAIServer, tmp_path: Path) -> None:
    with edge_of(fresh, tmp_path) as settings:
        made_by = fingerprint(card_of(NAME, settings))
    fresh.set(dimension=9)
    with edge_of(fresh, tmp_path) as settings, pytest.raises(EmbedderMismatchError, match="dimension=9"):
        embed_batch(batch_of(a="new text"), embedder=NAME, fingerprint=made_by, edge=settings)


def test_a_run_without_a_server_is_told_what_to_set() -> None:
    with pytest.raises(UsageError, match="needs a server"), opened(NAME):
        pass
    with pytest.raises(UsageError, match="names no model"), opened("openai:"):
        pass


def test_failures_say_whether_they_pass(fresh: OpenAIServer, tmp_path: Path) -> None:
    fresh.set(context_tokens=50)
    with edge_of(fresh, tmp_path) as settings, opened(NAME, settings) as embedder:
        made = embedder.encode(["fine", "long words " * 200])
    assert list(made.failed) == [1]
    assert isinstance(made.failed[1], Failure)
    assert (made.failed[1].reason, made.failed[1].passes) == ("too_long", False)
