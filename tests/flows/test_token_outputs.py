"""Token weights and vectors in a lake: landed, audited, replaced, forgotten, searched; tables of before still read."""

import zlib
from dataclasses import dataclass, replace

import numpy as np
import pytest
from lake_contents import assert_sound
from sample_chats import conversation, write_conversations

from memlake.flows.embed import embed
from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import EmbedSettings, ForgetSettings, IngestSettings
from memlake.transforms.base.errors import EmbedderMismatchError, UsageError
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.embedder import EmbedderCard, Encoded, ragged
from memlake.transforms.evaluate.search import SearchSettings, search
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.retrieve import plan

NAME = "bge-m3-multi"
PLANS = {name: [{"step": f"seed_{name}"}, {"step": "rank"}, {"step": "pack"}] for name in ("sparse", "multi")}


@dataclass(frozen=True)
class Words:
    """A model of a kind: a token is a word, its weight the word's length, its vector drawn from the word."""

    card: EmbedderCard

    def embed(self, texts):
        return self.encode(texts).dense

    def encode(self, texts, *, questions=False):  # noqa: ARG002
        words = [sorted(set(text.split()), key=self._id) for text in texts]
        sparse = [
            (
                np.array([self._id(word) for word in tokens], np.int32),
                np.array([len(word) for word in tokens], np.float32),
            )
            for tokens in words
        ]
        multi = [(np.array([self._vector(word) for word in tokens], np.float32).reshape(-1, 4),) for tokens in words]
        dense = np.array([self._vector(text) for text in texts], np.float32).reshape(-1, 4)
        return Encoded(
            dense,
            ragged(sparse, (np.empty(0, np.int32), np.empty(0, np.float32))) if self.card.sparse else None,
            ragged(multi, (np.empty((0, 4), np.float32),)) if self.card.multi else None,
        )

    def _id(self, word):
        return zlib.crc32(word.encode()) % 100_000

    def _vector(self, word):
        drawn = np.random.default_rng(zlib.crc32(f"{self.card.revision}{word}".encode())).standard_normal(4)
        return drawn / np.linalg.norm(drawn)


FULL = EmbedderCard(NAME, "words", "1", 4, normalised=True, sparse=True, multi=4)


@pytest.fixture
def model(monkeypatch):
    """Choose the model that the name loads."""

    def use(card):
        monkeypatch.setitem(catalogue._loaded, NAME, Words(card))

    use(FULL)
    return use


@pytest.fixture
def lake(tmp_path, model):
    uri = str(tmp_path / "lake")
    source = write_conversations(tmp_path / "a.jsonl", [conversation(name, 12) for name in "abc"])
    ingest(IngestSettings(uri, "c", (str(source),), embedder=NAME))
    return uri


def table_of(lake):
    return open_lake(lake).snapshot().lance_table(f"chunks__{NAME}")


def test_outputs_land_beside_the_vectors_and_audits_pass(lake):
    table = table_of(lake)
    assert table.schema.metadata[b"memlake:sparse"] == b"true"
    rows = table.to_table().to_pylist()
    words = Words(FULL)
    made = words.encode([row["key_text"] for row in rows])
    for place, row in enumerate(rows):
        assert row["sparse_ids"] == made.sparse.of(place)[0].tolist()
        assert row["sparse_weights"] == made.sparse.of(place)[1].tolist()
        assert np.array_equal(np.float32(row["multi"]), made.multi.of(place)[0])
    assert_sound(lake)
    assert embed(EmbedSettings(lake, "c", embedder=NAME))["snapshot_id"] is None


def test_another_makers_outputs_are_refused_then_replaced_with_their_columns(lake, model, tmp_path):
    for card in (replace(FULL, multi=0), replace(FULL, sparse=False, multi=0, revision="2"), FULL):
        model(card)
        with pytest.raises(EmbedderMismatchError):
            ingest(IngestSettings(lake, "c", (str(tmp_path / "a.jsonl"),), embedder=NAME))
        assert embed(EmbedSettings(lake, "c", embedder=NAME))["snapshot_id"] is not None
        columns = set(table_of(lake).schema.names)
        assert ("sparse_ids" in columns, "multi" in columns) == (card.sparse, bool(card.multi))
        assert_sound(lake)


def test_a_forgotten_conversation_takes_its_outputs_along_and_a_changed_one_replaces_them(lake, tmp_path):
    forget(ForgetSettings(lake, "c", "b"))
    changed = write_conversations(tmp_path / "a.jsonl", [conversation("a", 14, seed=2), conversation("c", 12)])
    ingest(IngestSettings(lake, "c", (str(changed),), embedder=NAME))
    assert set(table_of(lake).to_table()["conversation_id"].to_pylist()) == {"a", "c"}
    assert_sound(lake)


@pytest.mark.parametrize("seed", ["sparse", "multi"])
def test_a_search_by_tokens_finds_the_text_that_shares_them(lake, monkeypatch, seed):
    monkeypatch.setitem(plan.PLANS, seed, PLANS[seed])
    chunk = table_of(lake).to_table()["key_text"][3].as_py()
    found = search(SearchSettings(lake, chunk, "c", plan=seed, embedder=NAME, k=3)).rows
    assert found[0]["show_text"] == chunk
    assert [row["score"] for row in found] == sorted((row["score"] for row in found), reverse=True)


def test_a_plan_that_needs_more_than_the_embedder_gives_says_who_does(lake, monkeypatch, tmp_path):
    monkeypatch.setitem(plan.PLANS, "sparse", PLANS["sparse"])
    source = write_conversations(tmp_path / "b.jsonl", [conversation("z", 4)])
    ingest(IngestSettings(lake, "d", (str(source),)))
    with pytest.raises(UsageError, match="embedder='static' gives dense, and a plan needs sparse") as refused:
        search(SearchSettings(lake, "river", "d", plan="sparse"))
    assert "--embedder bge-m3" in refused.value.hint
