"""The rerank step over lists of different lengths, with a reranker that likes long texts."""

import numpy as np
import pytest

from memlake.transforms.embed.reranker import Scored

TALK = [("8 May", [("Ann", "apple"), ("Bo", "apple pear pear"), ("Ann", "fig"), ("Bo", "apple of the long sort")])]


class LikesLength:
    """Scores a pair by the length of its text in words."""

    def __init__(self):
        self.pairs = []

    def score(self, pairs, *, max_length):
        assert max_length == 512
        self.pairs += pairs
        return Scored(np.array([len(text.split()) for _, text in pairs], np.float32), cut=len(pairs))


@pytest.fixture
def model(monkeypatch):
    model = LikesLength()
    monkeypatch.setattr("memlake.transforms.retrieve.steps.rerank.load_reranker", lambda _name: model)
    return model


@pytest.fixture
def store(memory_of):
    memory = memory_of(TALK)
    for turn in memory.turns.to_pylist():
        memory.slice(f"u{turn['ordinal']}", turn["char_start"], turn["char_end"])
    return memory.store()


def plan(*between, pool=2, above=0):
    rank = {"step": "rank", "above": above}
    return [{"step": "seed_lexical"}, rank, *between, {"step": "rerank", "pool": pool}, {"step": "pack"}]


def test_only_candidates_are_shown_to_the_model_and_they_alone_move(model, store, asked, searched, ranks):
    found = searched(plan(pool=3), store, asked("apple", "fig", "zebra"))
    assert len(model.pairs) == 4
    assert [ranks(found, f"q{n}") for n in range(3)] == [["u3", "u1", "u0"], ["u2"], []]
    assert found.rerank_cut == 4
    assert found.retrievals["rerank"].null_count == 0


def test_the_pool_ends_before_the_candidates_do(model, store, asked, searched, ranks):
    plain = ranks(searched([*plan()[:2], {"step": "pack"}], store, asked("apple")))
    found = searched(plan(pool=2), store, asked("apple"))
    assert sorted(ranks(found)[:2]) == sorted(plain[:2])
    assert ranks(found)[2:] == plain[2:]
    assert found.retrievals["rerank"].null_count == 1


def test_ties_of_the_model_go_by_unit_id_and_not_by_the_rank_before(model, memory_of, asked, searched, ranks):
    memory = memory_of([("8 May", [("Ann", "fig fig apple"), ("Bo", "apple apple apple")])])
    for name, turn in zip("ab", memory.turns.to_pylist(), strict=True):
        memory.slice(name, turn["char_start"], turn["char_end"])
    found = searched(plan(), memory.store(), asked("apple"))
    assert found.retrievals["score"].to_pylist() == sorted(found.retrievals["score"].to_pylist())
    assert ranks(found) == ["a", "b"]


def test_without_candidates_the_model_is_not_asked(model, store, asked, searched):
    found = searched(plan(), store, asked("zebra", "kiwi"))
    assert (model.pairs, found.retrievals.num_rows) == ([], 0)
