from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.read.common.choices import Choices, lettered, shuffled


def test_lettered_options_keep_the_sources_order():
    assert lettered({"A": "x", "B": 2, "C": None, "D": ["y", "z"]}, " D ") == Choices(["x", "2", "y, z"], 2)
    assert lettered({"A": "x"}, "a") == Choices(["x"], None)
    assert lettered({"A": "x"}, ["A"]) == Choices(["x"], None)
    assert lettered(["x"], "A") == Choices()


def test_an_unknown_right_option_is_no_attribute():
    assert (Choices(["x"], 0).attributes, Choices(["x"], 0).right_text) == ({"right_option": 0}, "x")
    assert (Choices(["x"]).attributes, Choices(["x"]).right_text) == ({}, None)


@given(st.lists(st.text(), min_size=1, max_size=6), st.data(), st.text())
def test_shuffling_loses_nothing_and_follows_the_right_option(options, data, key):
    right = data.draw(st.integers(0, len(options) - 1))
    made = shuffled(options, right, key)
    assert Counter(made.options) == Counter(options)
    assert made.right_text == options[right]
    assert made == shuffled(options, right, key)


def test_the_key_alone_decides_and_every_place_is_taken_about_as_often():
    places = Counter(shuffled(["a", "b", "c", "d"], 0, str(key)).right for key in range(4000))
    assert all(900 < places[place] < 1100 for place in range(4))
    assert shuffled(["a", "b", "c", "d"], 0, "k").right == shuffled(["w", "x", "y", "z"], 0, "k").right
