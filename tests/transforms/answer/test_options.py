"""Multiple choice: the order shown says nothing, and a reply chooses by its letter."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.answer.options import chosen, labels, shown_order

OPTIONS = ("green tea", "black coffee", "A", "plain water")
ORDER = (2, 0, 3, 1)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        (" (C) ", "C"),
        ("B.", "B"),
        ("D) black coffee", "D"),
        ("**D**", "D"),
        ("D: black coffee", "D"),
        ("Answer: C", "C"),
        ("The answer is C.", "C"),
        ("Option B", "B"),
        ("The correct option is (D)", "D"),
        ("B\nbecause she likes it", "B"),
        ("B. A is wrong.", "B"),
        ("black coffee", "D"),
        ("Black Coffee.", "D"),
    ],
)
def test_a_reply_that_names_one_letter_chooses_the_option_shown_there(reply: str, letter: str) -> None:
    assert chosen(reply, OPTIONS, ORDER) == ORDER["ABCD".index(letter)]


@pytest.mark.parametrize(
    "reply",
    ["", "E", "A dog", "Because", "A or B", "A and C", "B, C", "B) C)", "I like tea", "No information available.", "1"],
)
def test_a_reply_that_names_none_or_several_chooses_nothing(reply: str) -> None:
    assert chosen(reply, OPTIONS, ORDER) is None


def test_a_long_reply_of_marks_takes_no_time() -> None:
    assert chosen("." * 200_000 + "hm", OPTIONS, ORDER) is None
    assert chosen("The answer is " + "*" * 200_000 + "B", OPTIONS, ORDER) == ORDER[1]


def test_a_letter_means_the_place_shown_even_where_an_option_is_a_letter() -> None:
    assert chosen("A", ("A", "B"), (1, 0)) == 1
    assert chosen("B", ("A", "B"), (1, 0)) == 0
    assert chosen("A. Smith", ("A. Smith", "B. Jones"), (1, 0)) == 0


def test_options_beyond_the_letters_have_numbers() -> None:
    options = [f"thing {n}" for n in range(30)]
    order = shown_order("c", "q", 30)
    assert labels(30)[:2] == ["1", "2"]
    assert chosen("17.", options, order) == order[16]
    assert chosen("31.", options, order) is None


@given(st.text(max_size=5), st.integers(0, 40))
def test_every_option_is_shown_once_in_an_order_of_the_question(name: str, count: int) -> None:
    order = shown_order("c", name, count)
    assert sorted(order) == list(range(count))
    assert order == shown_order("c", name, count)


def test_the_right_option_of_a_source_that_puts_it_first_stands_everywhere_as_often() -> None:
    first = Counter(shown_order("c", f"q{n}", 4).index(0) for n in range(400))
    assert set(first) == {0, 1, 2, 3}
    assert min(first.values()) > 60
