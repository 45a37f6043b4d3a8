"""sentences: where they end, and that none is lost."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.represent.catalogue import represent, spec_of


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
