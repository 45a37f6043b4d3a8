"""Sentences: where they end, and that none is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.text.sentences import sentence_spans


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("no case needed. like this", ["no case needed.", "like this"]),
        ("Wait... what?! Yes.", ["Wait...", "what?!", "Yes."]),
        ('He said "Go." Then left.', ['He said "Go."', "Then left."]),
        ("Dr. Smith met J. Doe at 3.5 km.", ["Dr. Smith met J. Doe at 3.5 km."]),
        ("See e.g. this. Fine.", ["See e.g. this.", "Fine."]),
        ("See example.org/a.b today", ["See example.org/a.b today"]),
        ("我喜欢。你呢？好！", ["我喜欢。", "你呢？", "好！"]),
        ("「好。」と言った。", ["「好。」", "と言った。"]),
        ("a\r\n\r\n  b\n", ["a", "b"]),
        ("Look! [shares a dog]", ["Look!", "[shares a dog]"]),
        ("  one  ", ["one"]),
        ("...", ["..."]),
        ("👍", ["👍"]),
    ],
)
def test_sentences_of_known_texts(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@given(st.one_of(st.text(), st.text(alphabet="aA.!?…。！」\"' \n\r\u2028")))
def test_sentences_tile_a_text_up_to_white_space(text: str) -> None:
    spans = sentence_spans(text)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    borders = [0, *(border for span in spans for border in span), len(text)]
    assert not "".join(text[a:b] for a, b in zip(borders[::2], borders[1::2], strict=True)).strip()
