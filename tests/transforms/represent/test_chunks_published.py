"""chunks_published: what the published code stores, against that code's rule written out plainly; and one switch a defect."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation, ReadOptions, Source
from memlake.transforms.base.errors import UsageError
from memlake.transforms.read.formats.locomo.conversations import READER
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.as_published.chunks_published import windows
from memlake.transforms.represent.catalogue import represent, spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
DATES = ("8 May, 2023", "9 May, 2023")
TALK = {
    "v": [
        (DATES[0], [("Ann", "Hello."), ("Bo", "Hi!"), ("Ann", "I leave now")]),
        (DATES[1], [("Ann", "Back again"), ("Bo", "Good."), ("Bo", "Very.")]),
    ]
}


def made(turns: pa.Table, **settings: Any) -> Units:
    return represent(spec_of("chunks_published-test", settings), turns)


def shown(turns: pa.Table, **settings: Any) -> list[str]:
    return made(turns, **settings).units["show_text"].to_pylist()


def plainly(rows: list[dict[str, Any]]) -> list[str]:
    """The chunks of one conversation as published, from dictionaries of turns and one loop over characters."""
    turns: list[dict[str, Any]] = []
    for row in rows:
        text, asks = row["text"][: row["source_chars"]], row["speaker"] == rows[0]["speaker"]
        if not turns or turns[-1]["b"]:
            turns.append({"a": [], "b": [], "date": None})
        turns[-1]["a" if asks else "b"].append(text)
        turns[-1]["date"] = row["session_label"]
    chunks = []
    for first in range(0, len(turns), 40):
        text = ""
        for number, turn in enumerate(turns[first : first + 40], first + 1):
            asked, answered = "\n".join(turn["a"]), "\n".join(turn["b"])
            date = f" (Session: {turn['date']})" if turn["date"] else ""
            text += f"[Turn {number}{date}] User: {asked if asked.strip() else '[Continued]'}\n"
            text += f"Assistant: {answered if answered.strip() else '[No response]'}\n\n"
        start = 0
        while True:
            end = min(start + 512, len(text))
            if end < len(text):
                for place in range(end - 1, end - 103, -1):
                    if text[place] == "\n":
                        end = place + 1
                        break
            if text[start:end].strip():
                chunks.append(text[start:end].strip())
            if end == len(text):
                break
            start = end - 100
    return chunks


def test_two_sides_make_a_turn_and_the_later_date_counts(turns_of: TurnsOf) -> None:
    assert shown(turns_of(TALK)) == [
        (
            "[Turn 1 (Session: 8 May, 2023)] User: Hello.\nAssistant: Hi!\n\n"
            "[Turn 2 (Session: 9 May, 2023)] User: I leave now\nBack again\nAssistant: Good.\n\n"
            "[Turn 3 (Session: 9 May, 2023)] User: [Continued]\nAssistant: Very."
        )
    ]


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        (
            "folds",
            "within_sessions",
            (
                "[Turn 1 (Session: 8 May, 2023)] User: Hello.\nAssistant: Hi!\n\n"
                "[Turn 2 (Session: 8 May, 2023)] User: I leave now\nAssistant: [No response]\n\n"
                "[Turn 3 (Session: 9 May, 2023)] User: Back again\nAssistant: Good.\n\n"
                "[Turn 4 (Session: 9 May, 2023)] User: [Continued]\nAssistant: Very."
            ),
        ),
        (
            "speakers",
            "names",
            (
                "[Turn 1 (Session: 8 May, 2023)] Ann: Hello.\nBo: Hi!\n\n"
                "[Turn 2 (Session: 9 May, 2023)] Ann: I leave now\nBack again\nBo: Good.\n\n"
                "[Turn 3 (Session: 9 May, 2023)] Ann: [Continued]\nBo: Very."
            ),
        ),
        (
            "pads",
            "drop",
            (
                "[Turn 1 (Session: 8 May, 2023)] User: Hello.\nAssistant: Hi!\n\n"
                "[Turn 2 (Session: 9 May, 2023)] User: I leave now\nBack again\nAssistant: Good.\n\n"
                "[Turn 3 (Session: 9 May, 2023)] Assistant: Very."
            ),
        ),
        (
            "header",
            "every",
            (
                "[8 May, 2023] [Turn 1] User: Hello.\nAssistant: Hi!\n\n"
                "[Turn 2] User: I leave now\nBack again\nAssistant: Good.\n\n[Turn 3] User: [Continued]\nAssistant: Very."
            ),
        ),
        (
            "user",
            "Bo",
            (
                "[Turn 1 (Session: 8 May, 2023)] User: [Continued]\nAssistant: Hello.\n\n"
                "[Turn 2 (Session: 8 May, 2023)] User: Hi!\nAssistant: I leave now\n\n"
                "[Turn 3 (Session: 9 May, 2023)] User: [Continued]\nAssistant: Back again\n\n"
                "[Turn 4 (Session: 9 May, 2023)] User: Good.\nVery.\nAssistant: [No response]"
            ),
        ),
    ],
)
def test_each_defect_is_mended_alone(turns_of: TurnsOf, setting: str, value: str, expected: str) -> None:
    assert shown(turns_of(TALK), **{setting: value}) == [expected]


def test_the_text_starts_anew_with_each_batch_unless_there_are_none(turns_of: TurnsOf) -> None:
    turns = turns_of({name: [(None, [("A", f"q{n}"), ("B", f"r{n}")][: 2 - n % 1]) for n in range(5)] for name in "vw"})
    units = made(turns, batch=2).units.to_pylist()
    assert [unit["show_text"].count("[Turn ") for unit in units] == [2, 2, 1] * 2
    assert [json.loads(unit["attributes"])["batch"] for unit in units] == [1, 2, 3] * 2
    assert [unit["ordinal"] for unit in units] == [0, 1, 2] * 2
    assert [text.count("[Turn ") for text in shown(turns, batch=0)] == [5] * 2


def test_a_caption_and_only_that_is_dropped_or_kept(conversations_of: Callable[[Any], list[Conversation]]) -> None:
    (conversation,) = conversations_of({"v": [(None, [("A", "Look! [shares a cat]"), ("B", " [shares a dog]")])]})
    conversation.source_chars[:] = [5, 0]
    turns = tabulate("c", [conversation], 1)["turns"]
    assert shown(turns) == ["[Turn 1] User: Look!\nAssistant: [No response]"]
    assert shown(turns, captions="keep") == ["[Turn 1] User: Look! [shares a cat]\nAssistant:  [shares a dog]"]
    rows = made(turns).provenance.to_pylist()
    assert [(row["ordinal"], row["char_start"], row["char_end"]) for row in rows] == [(0, 3, 8)]


def test_with_names_a_third_speaker_is_named_on_the_assistants_side(turns_of: TurnsOf) -> None:
    turns = turns_of({"v": [(None, [("A", "x"), ("B", "y"), ("C", "z"), ("A", "w")])]})
    assert shown(turns, speakers="names") == [
        "[Turn 1] A: x\nB: y\n\n[Turn 2] A: [Continued]\nC: z\n\n[Turn 3] A: w\nB: [No response]"
    ]
    assert shown(turns_of({"v": [(None, [("A", "x"), ("A", "y")])]})) == [
        "[Turn 1] User: x\ny\nAssistant: [No response]"
    ]


def test_users_of_two_names_on_one_side_are_both_named(
    conversations_of: Callable[[Any], list[Conversation]],
) -> None:
    (conversation,) = conversations_of({"v": [(None, [("A", "x"), ("B", "y"), ("B", "z"), ("C", "w")])]})
    conversation.role[:] = ["user", "user", "user", "assistant"]
    turns = tabulate("c", [conversation], 1)["turns"]
    assert shown(turns, speakers="names") == ["[Turn 1] A: x\nB: y\nz\nC: w"]
    assert shown(turns) == ["[Turn 1] User: x\ny\nz\nAssistant: w"]


def test_a_chunk_knows_the_turns_that_it_holds_any_character_of(turns_of: TurnsOf) -> None:
    turns = turns_of({"v": [(None, [("A", "x" * 20), ("B", "y" * 20)] * 3)]})
    # Written, a turn is "[Turn N] User: ", 20, "\nAssistant: ", 20, "\n\n": 69 characters.
    told = [json.loads(text) for text in made(turns, size=69, overlap=0).units["attributes"].to_pylist()]
    assert told == [{"batch": 1, "turns": [number]} for number in (1, 2, 3)]
    told = [json.loads(text) for text in made(turns, size=138, overlap=0).units["attributes"].to_pylist()]
    assert [attributes["turns"] for attributes in told] == [[1, 2], [3]]
    told = [json.loads(text) for text in made(turns, size=100, overlap=0).units["attributes"].to_pylist()]
    assert [attributes["turns"] for attributes in told] == [[1, 2], [2, 3], [3]]


@given(text=st.text(st.sampled_from("ab \n"), max_size=400), size=st.integers(1, 60), data=st.data())
def test_windows_cover_all_that_shows_and_end_after_a_line_break_of_their_last_fifth(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - size // 5 - 1))
    spans = windows(text, size=size, overlap=overlap)
    covered = {place for start, end in spans for place in range(start, end)}
    assert {place for place, sign in enumerate(text) if not sign.isspace()} <= covered
    for start, end in spans:
        assert 0 < end - start <= size
        assert text[start:end] == text[start:end].strip()
    # Equal where all that shows of two windows is what they share.
    assert all(before[0] <= after[0] and before[1] <= after[1] for before, after in pairwise(spans))


def test_a_window_is_cut_at_the_last_line_break_that_is_near_its_end() -> None:
    assert windows("a" * 79 + "\n" + "b" * 19 + "\n" + "c" * 50, size=100, overlap=0) == [(0, 99), (100, 150)]
    assert windows("a" * 81 + "\n" + "b" * 80, size=100, overlap=10) == [(0, 81), (72, 162)]
    assert windows("a" * 79 + "\n" + "b" * 80, size=100, overlap=10) == [(0, 100), (90, 160)]


@given(data=st.data())
def test_chunks_are_those_of_the_published_rule_and_know_what_of_them_was_said(
    data: st.DataObject, odd_talks: Any, turns_of: TurnsOf, canonical: Callable[[pa.Table], dict[str, str]]
) -> None:
    talk = data.draw(odd_talks)
    turns = turns_of(talk)
    rows = turns.to_pylist()
    expected = [chunk for name in talk for chunk in plainly([row for row in rows if row["conversation_id"] == name])]
    units = represent(spec_of("chunks_published"), turns)
    assert units.units["show_text"].to_pylist() == expected
    assert_grounded(units, turns, canonical(turns))
    small = {"size": data.draw(st.integers(20, 60)), "overlap": 9}
    choices = {"folds": ["across_sessions", "within_sessions"], "speakers": ["roles", "names"]}
    choices |= {
        "captions": ["drop", "keep"],
        "pads": ["keep", "drop"],
        "header": ["first", "every"],
        "batch": [40, 2, 0],
    }
    chosen = {name: data.draw(st.sampled_from(values)) for name, values in choices.items()}
    assert_grounded(made(turns, **small, **chosen), turns, canonical(turns))


def assert_grounded(made: Units, turns: pa.Table, texts: dict[str, str]) -> None:
    """Each unit holds what its provenance says, in order, and has the session and the speaker of all its pieces."""
    turn = {(row["conversation_id"], row["turn_id"]): row for row in turns.to_pylist()}
    pieces: dict[str, list[dict[str, Any]]] = {}
    for row in made.provenance.to_pylist():
        pieces.setdefault(row["unit_id"], []).append(row)
    assert len(pieces) == made.units.num_rows
    for unit in made.units.to_pylist():
        at = unit["header_chars"]
        of_it = pieces[unit["unit_id"]]
        for row in of_it:
            if row["char_start"] is None:
                assert (len(of_it), row["grounding"], row["touches_text"]) == (1, "none", False)
                continue
            said = texts[row["conversation_id"]][row["char_start"] : row["char_end"]]
            at = unit["show_text"].index(said, at) + len(said)
            assert said
            assert (row["grounding"], row["touches_text"]) == ("exact", True)
        of_turns = [turn[row["conversation_id"], row["turn_id"]] for row in of_it]
        for column in ("session_id", "speaker"):
            values = {row[column] for row in of_turns}
            assert unit[column] == (values.pop() if len(values) == 1 else None)
        assert (unit["span_start"], unit["span_end"]) == (None, None)


def test_a_chunk_of_prefixes_alone_comes_from_its_turn_without_characters(turns_of: TurnsOf) -> None:
    made_of = made(turns_of({"v": [("8 May, 2023", [("A", "word " * 3), ("B", "end")])]}), size=20, overlap=0)
    bare = [row for row in made_of.provenance.to_pylist() if row["char_start"] is None]
    assert bare
    assert {(row["turn_id"], row["grounding"], row["touches_text"]) for row in bare} == {("D0:0", "none", False)}


@pytest.mark.parametrize(
    "wrong",
    [
        "size=0",
        "overlap=-1",
        "overlap=410",
        "batch=-1",
        "folds=never",
        "speakers=all",
        "captions=x",
        "pads=x",
        "header=x",
    ],
)
def test_settings_that_make_no_chunks_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        spec_of(f"chunks_published-x:{wrong}")


def test_locomo_has_the_chunks_of_the_published_rule(shared_data: Path) -> None:
    read = READER.read(Source(str(shared_data / "locomo" / "locomo10.json")), ReadOptions())
    turns = tabulate("locomo", [conversation for conversation in read if isinstance(conversation, Conversation)], 1)[
        "turns"
    ]
    expected: dict[str, list[str]] = {}
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in turns.to_pylist():
        rows.setdefault(row["conversation_id"], []).append(row)
    expected = {name: plainly(of_it) for name, of_it in rows.items()}
    units = represent(spec_of("chunks_published"), turns).units
    found: dict[str, list[str]] = {}
    for unit in units.to_pylist():
        found.setdefault(unit["conversation_id"], []).append(unit["show_text"])
    assert found == expected
    # About 2,440 are published.
    assert units.num_rows == 2442
