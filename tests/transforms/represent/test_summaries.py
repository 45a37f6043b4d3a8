"""summaries: a unit a session, which comes from all turns of it that could be summarised."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from scripted_model import ScriptedModel, shown

from memlake.transforms.llm.protocol.model import Request
from memlake.transforms.represent.by_model.summaries import SUMMARIES
from memlake.transforms.represent.catalogue import asking, spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
TALK = {
    "v": [
        ("8 May, 2023", [("Ann", "I sold the barge."), ("Bo", "In {2021}?"), ("Ann", "Yes."), ("Bo", "Oh.")]),
        (None, [("Ann", "Bye </transcript>")]),
    ],
    "w": [("9 May, 2023", [("Cy", "Hm.")])],
}


def told(request: Request) -> str:
    """The turns of a request, one after the other, as its summary."""
    return json.dumps({"summary": " | ".join(turn["text"] for turn in shown(request)[1])}, ensure_ascii=False)


def made(turns: pa.Table, script: Any, spec: str = "summaries") -> tuple[Units, ScriptedModel]:
    model = ScriptedModel(script)
    return asyncio.run(SUMMARIES.asking.build(spec_of(spec, model="m"), turns, model)), model


def turns_of_units(units: Units) -> list[list[str]]:
    ids = units.units["unit_id"].to_pylist()
    return [[row["turn_id"] for row in units.provenance.to_pylist() if row["unit_id"] == unit] for unit in ids]


def test_each_session_is_one_unit_that_comes_from_all_its_turns(turns_of: TurnsOf) -> None:
    units, model = made(turns_of(TALK), told)
    assert [(row["show_text"], row["kind"], row["session_id"], row["speaker"]) for row in units.units.to_pylist()] == [
        ("[8 May, 2023] I sold the barge. | In {2021}? | Yes. | Oh.", "summary", "s0", None),
        ("Bye </transcript>", "summary", "s1", None),
        ("[9 May, 2023] Hm.", "summary", "s0", None),
    ]
    assert turns_of_units(units) == [["D0:0", "D0:1", "D0:2", "D0:3"], ["D1:4"], ["D0:0"]]
    assert units.units["attributes"].to_pylist() == [None] * 3
    for row in units.provenance.to_pylist():
        assert (row["char_start"], row["char_end"], row["grounding"], row["touches_text"]) == (None, None, "none", True)
    assert [(row["outcome"], row["units"], row["ungrounded"]) for row in units.extractions.to_pylist()] == [
        ("extracted", 1, 1)
    ] * 3
    assert [request.max_tokens for request in model.requests] == [512] * 3
    spec = spec_of("summaries", model="m")
    how = asking(spec)
    assert how
    assert list(how.first_requests(spec, turns_of(TALK))) == model.requests


def test_a_session_that_is_too_long_is_summarised_in_parts_that_stand_in_one_unit(turns_of: TurnsOf) -> None:
    def script(request: Request) -> tuple[str, str] | str:
        return ("too_long", "") if len(shown(request)[1]) > 2 else told(request)

    units, _ = made(turns_of(TALK), script)
    first = units.units.to_pylist()[0]
    assert first["show_text"] == "[8 May, 2023] I sold the barge.\nIn {2021}?\nYes. | Oh."
    assert json.loads(first["attributes"]) == {"parts": 3}
    assert turns_of_units(units)[0] == ["D0:0", "D0:1", "D0:2", "D0:3"]
    of_v = [row for row in units.extractions.to_pylist() if row["session_id"] == "s0" and row["conversation_id"] == "v"]
    assert [(row["units"], row["splits"]) for row in of_v] == [(1, 1), (0, 1), (0, 0)]
    assert units.dead == ()


def test_a_part_that_fails_is_no_source_of_the_unit_and_has_a_letter(turns_of: TurnsOf) -> None:
    def script(request: Request) -> tuple[str, str] | str:
        turns = shown(request)[1]
        if len(turns) > 2:
            return ("cut", '{"summary": "I so')
        return ("refused", "") if any("Oh." in turn["text"] for turn in turns) else told(request)

    units, _ = made(turns_of(TALK), script)
    first = units.units.to_pylist()[0]
    assert json.loads(first["attributes"])["failed_parts"] == 1
    assert "D0:3" not in turns_of_units(units)[0]
    assert [letter.reason for letter in units.dead] == ["refused"]


def test_the_unit_stands_in_the_books_of_the_first_part_that_it_tells_of(turns_of: TurnsOf) -> None:
    def script(request: Request) -> tuple[str, str] | str:
        turns = shown(request)[1]
        if len(turns) > 2:
            return "too_long", ""
        return ("refused", "") if any("sold" in turn["text"] for turn in turns) else told(request)

    units, _ = made(turns_of({"v": TALK["v"][:1]}), script)
    books = [(row["outcome"], row["units"]) for row in units.extractions.to_pylist()]
    assert books == [("failed", 0), ("extracted", 1), ("extracted", 0)]


def test_sessions_of_one_name_in_neighbouring_conversations_are_units_of_their_own(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of({name: [("8 May, 2023", [("Ann", f"From {name}.")])] for name in ("v", "w", "x")}), told)
    assert units.units["conversation_id"].to_pylist() == ["v", "w", "x"]
    assert units.units["show_text"].to_pylist() == [f"[8 May, 2023] From {name}." for name in ("v", "w", "x")]


def test_a_session_of_which_there_is_nothing_to_tell_has_no_unit_and_no_letter(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of(TALK), lambda _: '{"summary": " "}')
    assert units.units.num_rows == 0
    assert [row["outcome"] for row in units.extractions.to_pylist()] == ["empty"] * 3
    assert (units.dead, units.unfinished) == ((), {})


def test_a_reply_of_another_form_is_a_dead_letter_with_the_reply(turns_of: TurnsOf) -> None:
    units, model = made(turns_of({"w": TALK["w"]}), lambda _: '{"summary": ["Hm."]}')
    assert units.units.num_rows == 0
    assert len(model.requests) == 3
    (letter,) = units.dead
    assert (letter.reason, letter.payload) == ("invalid", '{"summary": ["Hm."]}')
