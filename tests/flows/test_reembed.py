"""Vectors of another model: refused where they would be mixed, replaced by the command that the refusal names."""

from dataclasses import dataclass

import numpy as np
import pytest
from lake_contents import assert_sound
from sample_chats import conversation, write_conversations

from memlake.flows.embed import embed
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import EmbedSettings, IngestSettings
from memlake.transforms.base.errors import EmbedderMismatchError
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.embedder import EmbedderCard
from memlake.transforms.lake.storage.lake import open_lake


@dataclass(frozen=True)
class Lengths:
    """A model of a kind: vectors from the length of the text."""

    card: EmbedderCard

    def embed(self, texts):
        lengths = np.array([[len(text) + place for place in range(self.card.dimension)] for text in texts], np.float32)
        return lengths / np.linalg.norm(lengths, axis=1, keepdims=True)


@pytest.fixture
def model(monkeypatch):
    """Choose the model that the name `static` loads."""

    def use(revision: str, dimension: int) -> None:
        monkeypatch.setitem(
            catalogue._loaded, "static", Lengths(EmbedderCard("static", "lengths", revision, dimension, True))
        )

    return use


@pytest.mark.parametrize("dimension", [4, pytest.param(8, marks=pytest.mark.long)])
def test_another_models_vectors_are_refused_until_they_are_embedded_again(tmp_path, model, dimension):
    lake = str(tmp_path / "lake")
    sources = {name: str(write_conversations(tmp_path / f"{name}.jsonl", [conversation(name, 8)])) for name in "ab"}
    model("1", 4)
    for corpus, source in sources.items():
        ingest(IngestSettings(lake, corpus, (source,)))
    model("2", dimension)
    with pytest.raises(EmbedderMismatchError) as caught:
        ingest(IngestSettings(lake, "a", (sources["a"],)))
    assert caught.value.hint == "memlake embed --embedder static --corpus a"
    first = embed(EmbedSettings(lake, "a"))
    assert first["stale"] == ["vectors:chunks__static of corpus b"]
    table = open_lake(lake).snapshot().lance_table("chunks__static")
    assert table.schema.metadata[b"memlake:revision"] == b"2"
    assert table.schema.field("vector").type.list_size == dimension
    assert set(table.to_table()["corpus"].to_pylist()) == {"a"}
    assert_sound(lake)
    embed(EmbedSettings(lake, "b"))
    assert set(open_lake(lake).snapshot().lance_table("chunks__static").to_table()["corpus"].to_pylist()) == {"a", "b"}
    assert_sound(lake)
    assert ingest(IngestSettings(lake, "a", (sources["a"],)))["snapshot_id"] is None
    assert embed(EmbedSettings(lake, "b"))["snapshot_id"] is None
