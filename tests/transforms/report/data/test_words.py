"""Words and where they stand: the same content tokens as every metric counts, each with its place."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.report.data.browser_rows import ranges_without, words_of
from memlake.transforms.text.content_tokens import content_tokens

# Articles, signs that change the length of a text in lower case, every kind of space, punctuation within words.
PIECES = st.sampled_from(
    [
        "the",
        "The’s",
        "_the_",
        "a",
        "an",
        "İ",
        "ΟΔΟΣ",
        "don't",
        "mother-in-law",
        "4,471",
        "\u2028",
        "\x1c",
        " ",
        "\n",
        "🙂",
        "ǅ",
        "'the",
        "x.the",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join))


@given(text=TEXTS, language=st.sampled_from(["english", "other"]))
def test_the_tokens_of_the_words_are_the_content_tokens_of_the_text(text, language):
    (words,) = words_of([text], language=language)
    assert [token for word in words for token in word.tokens] == content_tokens(text, language)


@given(text=TEXTS)
def test_words_stand_in_order_within_the_text_and_hold_no_space(text):
    (words,) = words_of([text])
    assert all(0 <= word.start < word.end <= len(text) for word in words)
    assert all(before.end <= after.start for before, after in pairwise(words))
    assert not any(sign.isspace() for word in words for sign in text[word.start : word.end])


@pytest.mark.parametrize(
    ("text", "kept", "lost"),
    [
        ("The gate code is 4471 except on Sundays.", "gate codes 4471", ["except", "Sundays"]),
        ("Sundays, Sundays", "Sunday", []),
        ("red-hall", "hall", ["red"]),
        ("🙂 İstanbul", "", ["🙂", "İstanbul"]),
        ("is on the", "", []),
        ("_the_-end", "_the_", ["_the_-end"]),
    ],
)
def test_a_word_is_lost_when_a_token_of_it_is_kept_nowhere(text, kept, lost):
    (words,) = words_of([text])
    found = ranges_without(words, frozenset(content_tokens(kept)))
    assert [text[start:end] for start, end in found] == lost


def test_a_piece_whose_parts_give_other_tokens_than_the_whole_is_one_word():
    (words,) = words_of(["_the_ end"])
    assert [(word.start, word.end, word.tokens) for word in words] == [(0, 5, ("the",)), (6, 9, ("end",))]
