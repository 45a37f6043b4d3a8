"""Okapi's BM25 beside rank_bm25's own, on the words of the published study."""

import string

import numpy as np
import pytest

from memlake.transforms.retrieve.indexes.lexical_okapi import OkapiIndex, okapi_words

rank_bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed: pip install rank-bm25")


def words(text):
    return "".join(sign for sign in text if sign not in string.punctuation).lower().split()


def corpus(seed, texts=60):
    generator = np.random.default_rng(seed)
    vocabulary = ["The", "a", *(f"Word-{n}," for n in range(40)), "don't", "common."]
    # `common.` is in most texts: its idf is below 0, and rank_bm25 puts a share of the mean in its place.
    made = [
        " ".join([*generator.choice(vocabulary, generator.integers(0, 30)), *["common."] * (n % 4 > 0)])
        for n in range(texts)
    ]
    return made, [" ".join(generator.choice([*vocabulary, "unknown"], 7)) for _ in range(20)]


@pytest.mark.parametrize(("seed", "k1", "b"), [(1, 1.5, 0.75), (2, 1.2, 0.0), (3, 0.5, 1.0)])
def test_scores_are_those_of_rank_bm25(seed, k1, b):
    texts, questions = corpus(seed)
    reference = rank_bm25.BM25Okapi([words(text) for text in texts], k1=k1, b=b)
    expected = np.array([reference.get_scores(words(text)) for text in questions])
    assert reference.idf["common"] == reference.epsilon * reference.average_idf
    assert np.abs(OkapiIndex.build(texts, k1=k1, b=b).scores(questions) - expected).max() < 1e-9


def test_words_lose_their_punctuation_and_their_case():
    assert okapi_words("Don't — stop-it, OK?  Now") == ["dont", "—", "stopit", "ok", "now"]


def test_nothing_to_index_scores_nothing():
    assert OkapiIndex.build([], k1=1.5, b=0.75).scores(["x"]).shape == (1, 0)
    assert OkapiIndex.build(["", "..."], k1=1.5, b=0.75).scores(["x"]).tolist() == [[0.0, 0.0]]
