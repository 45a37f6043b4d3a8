"""Answers are compared as SQuAD's evaluation compares them, by judges and by metrics alike."""

import pytest

from memlake.transforms.text.squad import squad_normalised


@pytest.mark.parametrize(
    ("text", "plain"), [("The  Cat, a dog!", "cat dog"), ("A.B. an Ox", "ab ox"), ("the", ""), ("theatre", "theatre")]
)
def test_exact_compares_as_squad_does(text: str, plain: str) -> None:
    assert squad_normalised(text) == plain
