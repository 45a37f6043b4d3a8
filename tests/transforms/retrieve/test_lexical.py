import numpy as np
import pytest

from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings

TEXTS = ["The cats were sleeping on a mat", "A dog runs after the cat", "Nothing to see", ""]


def scores(texts, questions, **settings):
    return LexicalIndex.build(texts, LexicalSettings(**settings)).scores(questions)


def test_english_words_meet_by_their_stems_and_stop_words_meet_nothing():
    found = scores(TEXTS, ["a sleeping cat", "the of and", "zebra", ""])
    assert found.shape == (4, 4)
    assert found[0, 0] > found[0, 1] > 0
    assert found[0, 2] == found[0, 3] == 0
    assert not found[1:].any()


def test_a_word_asked_twice_counts_twice():
    once, twice = scores(TEXTS, ["dog", "dog dog"])
    assert np.array_equal(twice, 2 * once)
    assert once[1] > 0


def test_other_languages_are_neither_stemmed_nor_stopped():
    found = scores(["der Hund schläft", "die Hunde schlafen"], ["der Hund"], language="other")
    assert found[0, 0] > 0
    assert found[0, 1] == 0


def test_a_score_has_the_same_bits_whatever_is_asked_beside_it():
    texts = [f"word{n % 7} word{n % 11} word{n % 13} common" for n in range(50)]
    questions = ["word1 word2 common word3", "word5", "word12 word12 word6 common"]
    together = scores(texts, questions)
    assert all(
        scores(texts, [question])[0].tobytes() == row.tobytes()
        for question, row in zip(questions, together, strict=True)
    )


def test_units_without_a_word_score_zero():
    assert scores([], ["dog"]).shape == (1, 0)
    assert scores(["", "the a"], ["dog"]).tolist() == [[0.0, 0.0]]
    assert scores(TEXTS, []).shape == (0, 4)


@pytest.mark.parametrize("k", [0, 1, 3, 80])
def test_the_top_units_are_those_of_all_scores_with_ties_by_position(k):
    generator = np.random.default_rng(4)
    texts = [" ".join(generator.choice(["stone", "river", "lamp", "gate", "wall"], 3)) for _ in range(60)]
    questions = ["river stone", "lamp lamp", "nothing", "", "gate wall river stone", *["wall"] * 70]
    index = LexicalIndex.build(texts, LexicalSettings())
    found, score = index.top(questions, k)
    assert found.shape == score.shape == (len(questions), k)
    for row, scores in enumerate(index.scores(questions).astype(np.float32)):
        best = np.argsort(-scores, kind="stable")[:k]
        best = best[scores[best] > 0]
        assert found[row, : len(best)].tolist() == best.tolist()
        assert score[row, : len(best)].tolist() == scores[best].tolist()
        assert (found[row, len(best) :] == -1).all()
        assert np.isnan(score[row, len(best) :]).all()


def test_there_is_no_top_of_units_without_a_word():
    assert LexicalIndex.build(["", "the"], LexicalSettings()).top(["dog"], 2)[0].tolist() == [[-1, -1]]
