"""Words of scripts that are written without spaces: pairs of characters, the same for answers, contexts and search."""

import numpy as np
import pytest

from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings
from memlake.transforms.text.content_tokens import content_tokens, pieces


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("3人去北京。", ("3", "人去", "去北", "北京")),
        ("我", ("我",)),
        ("カレーライス", ("カレ", "レー", "ーラ", "ライ", "イス")),
        ("don't", ("don't",)),
        ("café", ("café",)),
        ("«été»", ("été",)),
        ("в2024году", ("в2024году",)),
        ("한국어", ("한국어",)),
        ("北京2024年", ("北京", "2024", "年")),
        ("。，！", ()),
        ("😀", ("😀",)),
    ],
)
def test_a_stretch_without_spaces_falls_into_pairs_where_its_script_writes_none(word, found):
    assert pieces(word) == found


def test_an_answer_s_words_are_among_those_of_the_sentence_that_holds_it():
    said = content_tokens("小王的哥哥今年３５岁，住在北京市海淀区。", language="other")
    assert set(content_tokens("北京市海淀区", language="other")) <= set(said)
    assert not set(content_tokens("上海市", language="other")) <= set(said)


def test_english_is_cut_as_before():
    assert content_tokens("北京 and the cats") == ["北京", "cat"]


def test_the_unit_with_the_question_s_words_is_found():
    texts = ["小王住在北京。", "小李喜欢吃苹果。", "今天下雨了。"]
    index = LexicalIndex.build(texts, LexicalSettings(language="other"))
    assert np.argmax(index.scores(["谁喜欢苹果？", "北京住着谁"]), axis=1).tolist() == [1, 0]
