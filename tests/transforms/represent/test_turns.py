"""turns: a unit a message."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.represent.catalogue import represent, spec_of


@given(data=st.data())
def test_a_turn_is_a_unit_without_its_line_break(
    data: st.DataObject,
    odd_talks: Any,
    turns_of: Callable[..., pa.Table],
    check_slices: Callable[[pa.Table, pa.Table], None],
) -> None:
    turns = turns_of(data.draw(odd_talks))
    made = represent(spec_of("turns"), turns)
    check_slices(turns, made.units)
    headers = [f"[{label}] " if label else "" for label in turns["session_label"].to_pylist()]
    texts = zip(headers, turns["speaker"].to_pylist(), turns["text"].to_pylist(), strict=True)
    assert made.units["show_text"].to_pylist() == [f"{header}{speaker}: {text}" for header, speaker, text in texts]
    assert made.units["speaker"].to_pylist() == turns["speaker"].to_pylist()
    assert made.units["ordinal"].to_pylist() == turns["ordinal"].to_pylist()
    assert made.provenance["turn_id"].to_pylist() == turns["turn_id"].to_pylist()
    assert all(made.provenance["touches_text"].to_pylist())
