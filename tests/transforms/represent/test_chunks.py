"""Chunks: every session covered, nothing invented, nothing twice."""

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.schemas.provenance import PROVENANCE
from memlake.schemas.units import UNITS
from memlake.transforms.base.conversation import Conversation, ReadOptions, Source
from memlake.transforms.base.errors import UsageError
from memlake.transforms.read.formats.locomo.conversations import READER
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.by_rule.chunks import chunk_spans
from memlake.transforms.represent.catalogue import represent, spec_of
from memlake.transforms.represent.common.representation import Units

Chunk = Callable[..., Units]


@pytest.fixture(scope="session")
def chunk(turns_of: Callable[..., pa.Table]) -> Chunk:
    return lambda talk, **settings: represent(spec_of("chunks-test", settings), turns_of(talk))


def one_turn(text: str) -> dict[str, Any]:
    return {"conv-1": [(None, [("A", text)])]}


def spans(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    _, start, end = chunk_spans(np.array([0]), np.array([length]), size=size, overlap=overlap)
    return list(zip(start.tolist(), end.tolist(), strict=True))


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, []),
        (1, [(0, 1)]),
        (411, [(0, 411)]),
        (412, [(0, 412)]),
        (511, [(0, 511)]),
        (512, [(0, 512)]),
        (513, [(0, 512), (412, 513)]),
        (924, [(0, 512), (412, 924)]),
        (925, [(0, 512), (412, 924), (824, 925)]),
        (1023, [(0, 512), (412, 924), (824, 1023)]),
        (1024, [(0, 512), (412, 924), (824, 1024)]),
        (1025, [(0, 512), (412, 924), (824, 1025)]),
    ],
)
def test_spans_of_known_lengths(length: int, expected: list[tuple[int, int]]) -> None:
    assert spans(length, 512, 100) == expected


def test_no_chunk_follows_the_one_that_reaches_the_end() -> None:
    assert spans(1100, 1000, 200) == [(0, 1000), (800, 1100)]


@given(st.integers(0, 3000), st.integers(1, 600), st.data())
def test_spans_cover_without_a_gap_and_none_lies_in_another(length: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    made = spans(length, size, overlap)
    assert [start for start, _ in made] == [number * (size - overlap) for number in range(len(made))]
    assert all(start < end <= start + size for start, end in made)
    for (_, end), (start, later) in pairwise(made):
        assert start <= end < later
    assert (made[-1][1] if made else 0) == length


@pytest.mark.parametrize(("size", "overlap"), [(512, 512), (512, 600), (512, -1), (0, 0), (-5, 0), (1, 1)])
def test_settings_that_make_no_chunks_are_refused_before_any_work(size: int, overlap: int) -> None:
    with pytest.raises(UsageError, match=r"chunk (size|overlap)=-?[0-9]+ is not allowed") as refused:
        spec_of("chunks-bad", {"size": size, "overlap": overlap})
    assert "\n" not in refused.value.message


@given(data=st.data())
def test_chunks_tile_every_session_of_odd_text(
    data: st.DataObject,
    odd_talks: Any,
    turns_of: Callable[..., pa.Table],
    canonical: Callable[[pa.Table], dict[str, str]],
    check_slices: Callable[[pa.Table, pa.Table], None],
) -> None:
    turns = turns_of(data.draw(odd_talks))
    size = data.draw(st.integers(1, 40))
    settings = {"size": size, "overlap": data.draw(st.integers(0, size - 1))}
    units = represent(spec_of("chunks-test", settings), turns).units
    check_slices(turns, units)
    assert units.schema == UNITS.schema
    assert len(set(units["unit_id"].to_pylist())) == units.num_rows
    rebuilt: defaultdict[str, str] = defaultdict(str)
    ordinals: defaultdict[str, int] = defaultdict(int)
    for unit in units.to_pylist():
        name = unit["conversation_id"]
        missing = unit["span_end"] - len(rebuilt[name])
        assert 0 < missing <= len(unit["show_text"]) - unit["header_chars"]
        rebuilt[name] += unit["show_text"][-missing:]
        assert unit["ordinal"] == ordinals[name]
        ordinals[name] += 1
    assert rebuilt == canonical(turns)


@given(data=st.data())
def test_chunks_never_cross_a_session_border_and_carry_its_date(
    data: st.DataObject, odd_talks: Any, turns_of: Callable[..., pa.Table], chunk: Chunk
) -> None:
    talk = data.draw(odd_talks)
    sessions: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for turn in turns_of(talk).to_pylist():
        sessions[turn["conversation_id"], turn["session_id"]].append(turn)
    units = chunk(talk, size=30, overlap=7).units.to_pylist()
    for unit in units:
        of_session = sessions[unit["conversation_id"], unit["session_id"]]
        assert of_session[0]["char_start"] <= unit["span_start"] < unit["span_end"] <= of_session[-1]["char_end"]
        label = of_session[0]["session_label"]
        assert unit["show_text"][: unit["header_chars"]] == (f"[{label}] " if label else "")
    ends = {(unit["conversation_id"], unit["session_id"]): unit["span_end"] for unit in units}
    assert ends == {key: of_session[-1]["char_end"] for key, of_session in sessions.items()}


@given(data=st.data())
def test_provenance_pieces_tile_each_chunk(
    data: st.DataObject, odd_talks: Any, turns_of: Callable[..., pa.Table], chunk: Chunk
) -> None:
    talk = data.draw(odd_talks)
    turns = {(turn["conversation_id"], turn["turn_id"]): turn for turn in turns_of(talk).to_pylist()}
    made = chunk(talk, size=12, overlap=5)
    assert made.provenance.schema == PROVENANCE.schema
    pieces: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in made.provenance.to_pylist():
        pieces[row["unit_id"]].append(row)
    for unit in made.units.to_pylist():
        at = unit["span_start"]
        for place, piece in enumerate(pieces.pop(unit["unit_id"])):
            turn = turns[piece["conversation_id"], piece["turn_id"]]
            text_start = turn["char_start"] + len(turn["speaker"]) + 2
            touched = range(
                max(piece["char_start"], text_start), min(piece["char_end"], text_start + len(turn["text"]))
            )
            assert piece["char_start"] == at < piece["char_end"]
            assert turn["char_start"] <= at < piece["char_end"] <= turn["char_end"]
            assert piece["touches_text"] == (len(touched) > 0)
            assert (piece["piece"], piece["ordinal"], piece["grounding"]) == (place, turn["ordinal"], "exact")
            at = piece["char_end"]
        assert at == unit["span_end"]
    assert not pieces


@given(data=st.data())
def test_a_conversation_has_the_same_chunks_whatever_it_is_batched_with(
    data: st.DataObject, odd_talks: Any, chunk: Chunk
) -> None:
    talk = data.draw(odd_talks)
    together, apart = chunk(talk), [chunk({name: sessions}) for name, sessions in talk.items()]
    for table in ("units", "provenance"):
        rows = [row for made in apart for row in getattr(made, table).to_pylist()]
        assert getattr(together, table).to_pylist() == rows


def test_signs_that_straddle_a_border_are_cut_by_code_point(
    turns_of: Callable[..., pa.Table], check_slices: Callable[[pa.Table, pa.Table], None]
) -> None:
    turns = turns_of(one_turn("x" * 507 + "👨‍👩‍👧e\u0301漢字" + "y" * 100))
    units = represent(spec_of("chunks"), turns).units
    check_slices(turns, units)
    assert units["span_end"].to_pylist() == [512, 619]


def test_multi_byte_text_ends_where_it_ends(chunk: Chunk) -> None:
    seed = random.Random(0)
    text = "".join(seed.choices("ab “", weights=[60, 30, 9, 1], k=600_000))
    units = chunk(one_turn(text)).units
    assert units["span_end"].to_pylist()[-1] == len("A: ") + len(text)


def test_repeated_passages_keep_their_own_places(chunk: Chunk) -> None:
    starts = chunk(one_turn("ok.\n" * 500)).units["span_start"].to_pylist()
    assert starts == list(range(0, len(starts) * 412, 412))


def test_a_long_run_of_spaces_is_kept(
    turns_of: Callable[..., pa.Table], check_slices: Callable[[pa.Table, pa.Table], None]
) -> None:
    turns = turns_of(one_turn("a" + " " * 5000 + "b"))
    check_slices(turns, represent(spec_of("chunks"), turns).units)


def test_no_turns_give_empty_tables_with_their_schemas(chunk: Chunk) -> None:
    made = chunk({})
    assert (made.units.num_rows, made.provenance.num_rows, made.links.num_rows) == (0, 0, 0)
    assert (made.units.schema, made.provenance.schema) == (UNITS.schema, PROVENANCE.schema)


def test_parts_of_conversations_are_refused(turns_of: Callable[..., pa.Table]) -> None:
    turns = turns_of({"conv-1": [(None, [("A", "one"), ("B", "two"), ("A", "three")])]})
    for part in (turns.slice(1), turns.slice(0, 2), turns.take([0, 2, 1])):
        with pytest.raises(ValueError, match="whole conversations"):
            represent(spec_of("chunks"), part)


def test_locomo_is_chunked_without_a_gap(
    shared_data: Path,
    canonical: Callable[[pa.Table], dict[str, str]],
    check_slices: Callable[[pa.Table, pa.Table], None],
) -> None:
    read = READER.read(Source(str(shared_data / "locomo" / "locomo10.json")), ReadOptions())
    turns = tabulate("locomo", [conversation for conversation in read if isinstance(conversation, Conversation)], 1)[
        "turns"
    ]
    units = represent(spec_of("chunks"), turns).units
    check_slices(turns, units)
    # 512-character windows over bare text are 1,425; prefixes, captions and the overlap make more.
    assert 1_900 < units.num_rows < 2_700
    ends: dict[str, int] = {}
    for unit in units.to_pylist():
        assert unit["span_start"] <= ends.get(unit["conversation_id"], 0) < unit["span_end"]
        ends[unit["conversation_id"]] = unit["span_end"]
    assert ends == {name: len(text) for name, text in canonical(turns).items()}
