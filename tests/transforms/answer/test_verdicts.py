"""Verdicts: read from an anchor, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.answer.verdicts import verdict


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("CORRECT", True),
        ("INCORRECT", False),
        ("correct.", True),
        ("  **INCORRECT**", False),
        ('"CORRECT"', True),
        ("Verdict: CORRECT", True),
        ("verdict = **incorrect**", False),
        ('{"verdict": "INCORRECT"}', False),
        ("The answer names the wrong year.\nVerdict: INCORRECT", False),
        ("INCORRECT. A CORRECT answer would name the year.", False),
        ("CORRECT\nVerdict: CORRECT", True),
        ("CORRECT\nVerdict: INCORRECT", None),
        ("CORRECT/INCORRECT", None),
        ("CORRECT INCORRECT", None),
        ("CORRECT - INCORRECT", None),
        ("CORRECT? No.", None),
        ("Correct answer: INCORRECT", None),
        ("Correct answer: Paris. The answer says Rome, so INCORRECT", None),
        ("CORRECT. It says the same.", True),
        ("CORRECT or INCORRECT", None),
        ("CORRECT, INCORRECT", None),
        ("CORRECTLY put", None),
        ("CORRECT-ish", None),
        ("CORRECT’s", None),
        ("in-correct", None),
        ("not CORRECT", None),
        ("The answer is CORRECT", None),
        ("The verdict: CORRECT", None),
        ("yes", None),
        ("", None),
        (" \n", None),
        ("正确", None),
        ("1", None),
    ],
)
def test_correct_and_incorrect_are_told_apart(reply: str, right: bool | None) -> None:
    assert verdict(reply, "correct") is right


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("yes", True),
        ("No.", False),
        ("Yes, it does.", True),
        ("No, yes would be wrong", False),
        ("Yes/no", None),
        ("Yes. No.", None),
        ("No.\nYes", None),
        ("yes, the response has no errors.", True),
        ("yes and no", None),
        ("Yesterday she said so", None),
        ("Not yes", None),
        ("nope", None),
        ("None", None),
        ("是的，yes", None),
        ("correct", None),
    ],
)
def test_yes_counts_as_the_first_word_alone(reply: str, right: bool | None) -> None:
    assert verdict(reply, "yes") is right


def test_a_reply_that_was_cut_counts_once_its_first_word_has_ended() -> None:
    assert verdict("INCORRECT. The ans", "correct", cut=True) is False
    assert verdict("CORRECT", "correct", cut=True) is None
    assert verdict("yes", "yes", cut=True) is None
    assert verdict("no, the", "yes", cut=True) is False


@given(st.text())
def test_no_text_that_begins_with_another_word_is_a_verdict(text: str) -> None:
    assert verdict("Well " + text.replace("\n", " "), "correct") is None
    assert verdict("INCORRECT " + text.replace("\n", " "), "correct") is not True
