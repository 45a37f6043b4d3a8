"""Folding into turns of two sides, against the rule written out message by message."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation, ReadOptions, Source
from memlake.transforms.read.formats.locomo.conversations import READER
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.text.turn_pairs import Pairs, fold_turns

TurnsOf = Callable[..., pa.Table]


def plainly(rows: list[dict[str, Any]], user: str | None, *, within: bool) -> list[list[int]]:
    """The rows of each turn of one conversation, as the published adapter folds them: one message after the other."""
    turns: list[list[int]] = []
    has_answer = True
    for place, row in enumerate(rows):
        crosses = within and place > 0 and row["session_ordinal"] != rows[place - 1]["session_ordinal"]
        # An answered turn takes no more: a question opens the next, and so does a second answer.
        if has_answer or crosses:
            turns.append([])
        turns[-1].append(place)
        has_answer = row["speaker"] != (user or rows[0]["speaker"])
    return turns


def members(pairs: Pairs) -> list[list[int]]:
    held: list[list[int]] = [[] for _ in pairs.first]
    for row, pair in enumerate(pairs.pair.tolist()):
        held[pair].append(row)
    return held


@given(data=st.data(), within=st.booleans())
def test_messages_are_folded_as_if_one_came_after_the_other(
    data: st.DataObject, within: bool, odd_talks: Any, turns_of: TurnsOf
) -> None:
    turns = turns_of(data.draw(odd_talks))
    pairs = fold_turns(turns, folds="within_sessions" if within else "across_sessions")
    expected, numbers = [], []
    rows = turns.to_pylist()
    for name in dict.fromkeys(turns["conversation_id"].to_pylist()):
        here = [place for place, row in enumerate(rows) if row["conversation_id"] == name]
        folded = plainly([rows[place] for place in here], None, within=within)
        expected += [[here[0] + place for place in turn] for turn in folded]
        numbers += range(1, len(folded) + 1)
    assert members(pairs) == expected
    assert pairs.number.tolist() == numbers
    for turn, mixed, first, dated in zip(expected, pairs.mixed, pairs.first, pairs.dated, strict=True):
        sessions = [rows[row]["session_ordinal"] for row in turn]
        assert bool(mixed) == (len(set(sessions)) > 1)
        assert (first, dated) == (turn[0], turn[sessions.index(sessions[-1])])
        assert not (within and mixed)


def test_batches_are_runs_of_turns_that_no_conversation_shares(turns_of: TurnsOf) -> None:
    pairs = fold_turns(turns_of({name: [(None, [("A", "a"), ("B", "b")] * 5)] for name in ("v", "w")}))
    assert pairs.batches(2).tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]
    assert pairs.batches(0).tolist() == [0] * 5 + [1] * 5


def test_whoever_has_the_role_of_the_user_is_the_user_whoever_speaks_first(
    conversations_of: Callable[[Any], list[Conversation]],
) -> None:
    talk = [("s", "0"), ("a", "1"), ("u", "2"), ("u", "3"), ("t", "4"), ("a", "5"), ("u", "6")]
    first, second = conversations_of({"v": [(None, talk)], "w": [(None, talk)]})
    first.role[:] = ["system", "assistant", "user", "user", "tool", "assistant", "user"]
    pairs = fold_turns(tabulate("c", [first, second], 1)["turns"])
    assert pairs.is_user.tolist() == [False, False, True, True, False, False, True, True, *[False] * 6]
    assert members(pairs)[:5] == [[0], [1], [2, 3, 4], [5], [6]]


def test_of_the_names_given_the_first_that_speaks_is_the_user_and_else_the_first_speaker(turns_of: TurnsOf) -> None:
    talk = {"v": [(None, [("A", "a"), ("B", "b"), ("C", "c")])], "w": [(None, [("D", "d"), ("B", "b")])]}
    for user, expected in (("C+B", "CB"), ("B+C", "BB"), ("first", "AD"), ("X+D", "AD"), ("A", "AD")):
        turns = turns_of(talk)
        sides = fold_turns(turns, user=user).is_user.tolist()
        found = [row["speaker"] for row, asks in zip(turns.to_pylist(), sides, strict=True) if asks]
        assert "".join(found) == expected, user


def test_one_who_talks_alone_has_turns_of_one_side_and_no_messages_make_no_turns(turns_of: TurnsOf) -> None:
    alone = fold_turns(turns_of({"v": [(None, [("A", "a")] * 3)]}))
    assert (alone.first.tolist(), alone.is_user.tolist()) == ([0], [True] * 3)
    assert len(fold_turns(turns_of({})).first) == 0


@pytest.fixture(scope="module")
def locomo(shared_data: Path) -> tuple[pa.Table, str]:
    """The turns, and the names of each first speaker of the source, in an order in which the first that speaks is right."""
    path = shared_data / "locomo" / "locomo10.json"
    read = READER.read(Source(str(path)), ReadOptions())
    turns = tabulate("locomo", [conversation for conversation in read if isinstance(conversation, Conversation)], 1)[
        "turns"
    ]
    sides = [tuple(talk["conversation"][f"speaker_{side}"] for side in "ab") for talk in json.loads(path.read_text())]
    names = list(dict.fromkeys(a for a, _ in sides))
    ordered: list[str] = []
    while names:
        name = next(name for name in names if not any(b == name and a in names for a, b in sides))
        ordered.append(name)
        names.remove(name)
    return turns, "+".join(ordered)


def test_locomo_folds_into_as_many_turns_as_were_published(locomo: tuple[pa.Table, str]) -> None:
    turns, user = locomo
    pairs = fold_turns(turns, user=user)
    assert (len(pairs.first), int(pairs.mixed.sum()), len(set(pairs.batches(40).tolist()))) == (2938, 137, 79)
    assert not fold_turns(turns, user=user, folds="within_sessions").mixed.any()
