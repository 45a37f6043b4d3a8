"""sentences: where they end, and that none is lost."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.represent.by_rule.sentences import sentence_spans
from memlake.transforms.represent.catalogue import represent, spec_of


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


@given(data=st.data())
def test_sentences_name_their_speaker_and_keep_their_place(
    data: st.DataObject,
    odd_talks: Any,
    turns_of: Callable[..., pa.Table],
    check_slices: Callable[[pa.Table, pa.Table], None],
) -> None:
    turns = turns_of(data.draw(odd_talks))
    made = represent(spec_of("sentences"), turns)
    check_slices(turns, made.units)
    assert made.provenance.num_rows == made.units.num_rows
    by_id = {(turn["conversation_id"], turn["turn_id"]): turn for turn in turns.to_pylist()}
    for unit, piece in zip(made.units.to_pylist(), made.provenance.to_pylist(), strict=True):
        assert unit["unit_id"] == piece["unit_id"]
        assert piece["touches_text"]
        assert (piece["char_start"], piece["char_end"]) == (unit["span_start"], unit["span_end"])
        assert unit["show_text"][: unit["header_chars"]].endswith(f"{unit['speaker']}: ")
        turn = by_id[piece["conversation_id"], piece["turn_id"]]
        assert turn["char_start"] < unit["span_start"] < unit["span_end"] <= turn["char_end"]
