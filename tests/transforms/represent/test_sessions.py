"""sessions: a unit a sitting."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.represent.catalogue import represent, spec_of


@given(data=st.data())
def test_sessions_tile_their_conversation(
    data: st.DataObject,
    odd_talks: Any,
    turns_of: Callable[..., pa.Table],
    canonical: Callable[[pa.Table], dict[str, str]],
    check_slices: Callable[[pa.Table, pa.Table], None],
) -> None:
    talk = data.draw(odd_talks)
    turns = turns_of(talk)
    made = represent(spec_of("sessions"), turns)
    check_slices(turns, made.units)
    assert made.units.num_rows == sum(map(len, talk.values()))
    assert made.provenance.num_rows == turns.num_rows
    rebuilt: dict[str, str] = {}
    for unit in made.units.to_pylist():
        name = unit["conversation_id"]
        rebuilt[name] = rebuilt.get(name, "") + unit["show_text"][unit["header_chars"] :]
    assert rebuilt == canonical(turns)


def test_a_session_has_a_speaker_only_when_one_person_speaks(turns_of: Callable[..., pa.Table]) -> None:
    talk = {"conv-1": [(None, [("A", "one"), ("A", "two")]), (None, [("A", "three"), ("B", "four")])]}
    assert represent(spec_of("sessions"), turns_of(talk)).units["speaker"].to_pylist() == ["A", None]
