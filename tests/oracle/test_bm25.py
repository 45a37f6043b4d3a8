"""Our one pass over bm25s's index beside bm25s itself, and its formula beside plain Python and rank_bm25."""

from math import log

import bm25s
import numpy as np
import pytest
import Stemmer

from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings

WORDS = [
    f"{stem}{ending}"
    for stem in ("walk", "jump", "paint", "cook", "sail", "plant")
    for ending in ("", "s", "ed", "ing", "er")
]


def corpus():
    generator = np.random.default_rng(21)
    texts = [" ".join(generator.choice([*WORDS, "the", "and", "of"], generator.integers(3, 40))) for _ in range(80)]
    questions = [" ".join(generator.choice([*WORDS, "unknownword", "the"], 6)) for _ in range(25)]
    return texts, questions


def test_scores_are_those_of_bm25s():
    texts, questions = corpus()
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="english", stemmer=stemmer, show_progress=False), show_progress=False)
    asked = bm25s.tokenize(questions, stopwords="english", stemmer=stemmer, return_ids=False, show_progress=False)
    expected = np.array([index.get_scores(words) for words in asked])
    assert LexicalIndex.build(texts, LexicalSettings()).scores(questions) == pytest.approx(expected, abs=1e-5)


def test_scores_are_the_formula_of_lucene():
    texts, questions = corpus()
    settings = LexicalSettings(language="other", k1=1.2, b=0.6)
    words = [text.split() for text in texts]
    average = sum(map(len, words)) / len(words)
    expected = np.zeros((len(questions), len(texts)))
    for q, question in enumerate(questions):
        for word in question.split():
            holding = sum(word in text for text in words)
            idf = log(1 + (len(words) - holding + 0.5) / (holding + 0.5))
            for t, text in enumerate(words):
                count = text.count(word)
                expected[q, t] += idf * count / (count + 1.2 * (1 - 0.6 + 0.6 * len(text) / average))
    assert LexicalIndex.build(texts, settings).scores(questions) == pytest.approx(expected, abs=1e-4)


def test_the_order_of_units_is_much_that_of_rank_bm25():
    rank_bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed: pip install rank-bm25")
    texts, questions = corpus()
    reference = rank_bm25.BM25Plus([text.split() for text in texts], k1=1.5, b=0.75, delta=0)
    found = LexicalIndex.build(texts, LexicalSettings(language="other")).scores(questions)
    agreed = [
        len(set(np.argsort(-row)[:10]) & set(np.argsort(-reference.get_scores(question.split()))[:10]))
        for row, question in zip(found, questions, strict=True)
    ]
    # Their idf differs by a constant inside the logarithm, so a few of the top ten may change places with the next.
    assert np.mean(agreed) > 9
