"""Pieces: every turn in one of them, none across a session border, and cut in two without a loss."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation
from memlake.transforms.base.errors import UsageError
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.by_model.pieces import (
    GRANULARITIES,
    LEAST_CUT_CHARS,
    Piece,
    check_piece_settings,
    halves,
    middle_of,
    pieces_of,
)

Canonical = Callable[[pa.Table], dict[str, str]]
TALK = {
    "v": [
        ("8 May", [("Ann", "a"), ("Ann", "b"), ("Bob", "c"), ("Cy", "d"), ("Ann", "e"), ("Bob", "f")]),
        (None, [("Bob", "g"), ("Ann", "h")]),
    ]
}


def texts(pieces: list[Piece]) -> list[str]:
    return ["".join(turn.text for turn in piece.turns) for piece in pieces]


@pytest.mark.parametrize(
    ("granularity", "count", "expected"),
    [
        ("turn", 20, ["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("exchange", 20, ["abcd", "ef", "gh"]),
        ("session", 20, ["abcdef", "gh"]),
        ("turns", 4, ["abcd", "ef", "gh"]),
        ("turns", 1, ["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("turns", 20, ["abcdef", "gh"]),
    ],
)
def test_pieces_of_a_known_talk(
    turns_of: Callable[..., pa.Table], granularity: str, count: int, expected: list[str]
) -> None:
    assert texts(pieces_of(turns_of(TALK), granularity=granularity, count=count)) == expected


def test_an_exchange_opens_with_the_user_whoever_speaks_first(
    conversations_of: Callable[[Any], list[Conversation]],
) -> None:
    (conversation,) = conversations_of(
        {"v": [(None, [("s", "0"), ("u", "1"), ("a", "2"), ("t", "3"), ("a", "4"), ("u", "5")])]}
    )
    conversation.role[:] = ["system", "user", "assistant", "tool", "assistant", "user"]
    pieces = pieces_of(tabulate("c", [conversation], 1)["turns"], granularity="exchange")
    assert texts(pieces) == ["0", "1234", "5"]


@given(data=st.data(), granularity=st.sampled_from(GRANULARITIES), count=st.integers(1, 3), context=st.integers(0, 3))
def test_every_turn_lies_in_one_piece_in_its_order_and_in_its_session(
    data: st.DataObject,
    granularity: str,
    count: int,
    context: int,
    odd_talks: Any,
    turns_of: Callable[..., pa.Table],
    canonical: Canonical,
) -> None:
    turns = turns_of(data.draw(odd_talks))
    pieces = pieces_of(turns, granularity=granularity, count=count, context=context)
    rows = turns.to_pylist()
    session = {(row["conversation_id"], row["ordinal"]): row["session_id"] for row in rows}
    held = [(piece.conversation_id, turn.ordinal, turn.text) for piece in pieces for turn in piece.turns]
    assert held == [(row["conversation_id"], row["ordinal"], row["text"]) for row in rows]
    whole = canonical(turns)
    for piece in pieces:
        assert piece.turns
        shown = (*piece.context, *piece.turns)
        assert {session[piece.conversation_id, turn.ordinal] for turn in shown} == {piece.session_id}
        ordinals = [turn.ordinal for turn in shown]
        assert ordinals == list(range(ordinals[0], ordinals[-1] + 1))
        assert len(piece.context) <= context
        for turn in shown:
            assert whole[piece.conversation_id][turn.start : turn.end] == turn.text


@given(data=st.data(), context=st.integers(0, 2))
def test_halves_put_together_are_the_piece(
    data: st.DataObject, context: int, odd_talks: Any, turns_of: Callable[..., pa.Table], canonical: Canonical
) -> None:
    turns = turns_of(data.draw(odd_talks))
    whole = canonical(turns)
    for piece in pieces_of(turns, granularity="session", context=context):
        todo = [piece]
        leaves = []
        while todo:
            halved = halves(todo[-1])
            if halved is None:
                leaves.append(todo.pop())
            else:
                assert all(half.chars < todo[-1].chars or len(half.turns) < len(todo[-1].turns) for half in halved)
                sizes = [len(turn.text) for turn in todo[-1].turns]
                cuts = [max(sum(sizes[:at]), sum(sizes[at:])) for at in range(1, len(sizes))]
                assert max(half.chars for half in halved) == min(cuts)  # turns of this talk are too short to be cut
                todo[-1:] = reversed(halved)
        assert "".join(texts(leaves)) == "".join(turn.text for turn in piece.turns)
        for leaf in leaves:
            for turn in (*leaf.turns, *leaf.context):
                assert whole[piece.conversation_id][turn.start : turn.end] == turn.text
        before = [turn for leaf in leaves for turn in leaf.turns]
        for leaf in leaves:
            at = before.index(leaf.turns[0])
            assert leaf.context == tuple(before[max(at - context, 0) : at])


def test_a_long_turn_is_cut_at_a_space_near_its_middle_and_a_short_one_is_not(
    turns_of: Callable[..., pa.Table],
) -> None:
    text = "word " * 200 + "end"
    (piece,) = pieces_of(turns_of({"v": [(None, [("Ann", text)])]}), granularity="turn")
    halved = halves(piece)
    assert halved
    left, right = halved
    assert left.turns[0].text.endswith("word ")
    assert right.turns[0].text.startswith("word")
    assert abs(left.chars - right.chars) < 10
    assert not left.turns[0].whole
    assert "(characters" in right.about
    assert (right.turns[0].start, right.turns[0].end) == (left.turns[0].end, piece.turns[0].end)
    for length, is_cut in ((LEAST_CUT_CHARS - 1, False), (LEAST_CUT_CHARS, True)):
        (short,) = pieces_of(turns_of({"v": [(None, [("Ann", "x" * length)])]}), granularity="turn")
        assert (halves(short) is not None) == is_cut


@pytest.mark.parametrize("text", ["x" * 1000, "👨‍👩‍👧" * 200, "e\u0301" * 500, "日本" * 400, " " * 500, "\u0301" * 600])
def test_a_text_without_spaces_is_cut_between_whole_signs(text: str) -> None:
    for shifted in (text, *("x" * more + text for more in range(1, 10))):  # so that the middle lies amid a sign
        at = middle_of(shifted)
        assert 0 < at < len(shifted)
        if text[0] != "\u0301":
            assert shifted[at] not in "\u0301\u200d"
            assert shifted[at - 1] != "\u200d"


@pytest.mark.parametrize("sign", ["\u0301", "\u200d", "👨\u200d", "x"])
def test_halves_are_halves_whatever_the_text(sign: str, turns_of: Callable[..., pa.Table]) -> None:
    (piece,) = pieces_of(turns_of({"v": [(None, [("Ann", "e" + sign * 50_000)])]}), granularity="turn")
    halved = halves(piece)
    assert halved
    assert max(half.chars for half in halved) < 0.8 * piece.chars


def test_a_piece_without_text_is_blank_and_one_with_any_is_not(turns_of: Callable[..., pa.Table]) -> None:
    turns = turns_of({"v": [(None, [("Ann", "x"), ("Bob", "y")])]})
    blank = turns.set_column(turns.schema.get_field_index("text"), "text", pa.array([" ", "\u00a0"], pa.string()))
    assert [piece.is_blank for piece in pieces_of(blank, granularity="session")] == [True]
    assert [piece.is_blank for piece in pieces_of(turns, granularity="session")] == [False]


@pytest.mark.parametrize("wrong", [{"granularity": "page"}, {"turns": 0}, {"context": -1}])
def test_settings_that_make_no_pieces_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=str(next(iter(wrong)))):
        check_piece_settings({"granularity": "session", "turns": 20, "context": 0} | wrong)
