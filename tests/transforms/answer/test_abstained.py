"""Abstention by anchors: what says that there is no answer, and what only sounds like it."""

import json
from pathlib import Path

import pytest

from memlake.transforms.answer.abstained import ABSTENTION, abstains

ABSTAINING = (
    ABSTENTION,
    "no information available",
    "There is no information available about her car.",
    "It is not mentioned.",
    "Her car is **not mentioned** in the conversation.",
    "The conversation does not mention a car.",
    "The evidence provided doesn’t say where he lives.",
    "The context contains no information on this.",
    "This cannot be determined from the conversation.",
    "The question can't be answered.",
    "There is not enough information to answer.",
    "Unanswerable.",
    "The question is unanswerable",
    "Answer: unknown",
    "I don't know.",
    "Sorry, I do not know.",
    "I cannot tell from the evidence.",
    "There is no mention of a car.",
    "Not specified",
    "It is not specified in the conversation.",
    "N/A",
    "no information\navailable",
)
ANSWERING = (
    "",
    "No.",
    "No, she did not.",
    "He is not married.",
    "She was not available on Tuesday.",
    "Not until the bridge opens in June.",
    "The unknown soldier's grave",
    "Unknown Pleasures",
    "She could not find her keys.",
    "They were told nothing of it.",
    "Her number is not known to her boss, who is called Mr Lind.",
    "Nobody, not even Bo.",
    "She does not mention it to her mother",
    "Nothing",
    "Notre Dame",
    "A knot",
    "He works at the information desk, which is available all day.",
    "没有提到",
)


@pytest.mark.parametrize("text", ABSTAINING)
def test_an_answer_that_says_there_is_none_abstains(text: str) -> None:
    assert abstains(text)
    assert abstains(text.upper())


@pytest.mark.parametrize("text", ANSWERING)
def test_an_answer_that_merely_denies_something_does_not(text: str) -> None:
    assert not abstains(text)


def test_a_long_answer_of_leading_words_takes_no_time() -> None:
    assert not abstains("the this that it is was " * 20_000)
    assert not abstains("no relevant " * 20_000)


def test_nothing_that_people_say_or_that_answers_a_question_is_taken_for_abstention(shared_data: Path) -> None:
    talks = json.loads((shared_data / "locomo" / "locomo10.json").read_text())
    sessions = [session for talk in talks for session in talk["conversation"].values() if isinstance(session, list)]
    said = [turn["text"] for session in sessions for turn in session]
    gold = [str(qa["answer"]) for talk in talks for qa in talk["qa"] if qa["category"] != 5]
    assert (len(said), len(gold)) == (5882, 1540)
    assert [number for number, text in enumerate([*said, *gold]) if abstains(text)] == []
