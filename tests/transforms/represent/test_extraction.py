"""Extraction: nothing cut is kept, nothing is lost without a word, and the sums hold."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import ScriptedModel, every_turn, item, shown

from memlake.schemas.extractions import EXTRACTIONS
from memlake.transforms.base.concurrent import each
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.llm.prompting import prompt, prompt_names
from memlake.transforms.llm.protocol.model import ModelStoppedError, Request
from memlake.transforms.represent.by_model.artifacts import ARTIFACTS
from memlake.transforms.represent.by_model.asked import material_of
from memlake.transforms.represent.by_model.extraction import LEAST_REPLY_TOKENS, PieceRequest, reply_room, text_tokens
from memlake.transforms.represent.catalogue import asking, spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
WORDS = "went to the market and bought seven apples number"
TALK = {
    "v": [
        ("8 May, 2023", [("Ann" if n % 2 else "Bob", f"I {WORDS} {n}") for n in range(7)]),
        (None, [("Ann", f"we {WORDS} 9")]),
    ],
    "w": [("9 May, 2023", [("Cy", f"she {WORDS} 11")])],
}


def made(turns: pa.Table, script: Any, spec: str = "artifacts") -> tuple[Units, ScriptedModel]:
    model = ScriptedModel(script)
    return asyncio.run(ARTIFACTS.asking.build(spec_of(spec, model="m"), turns, model)), model


def rows(units: Units) -> list[dict[str, Any]]:
    return units.extractions.to_pylist()


def spoken(units: Units) -> list[str]:
    return [json.loads(unit["attributes"])["quote"] for unit in units.units.to_pylist()]


def test_every_session_is_asked_once_and_every_item_becomes_a_unit(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    units, model = made(turns, every_turn)
    assert spoken(units) == turns["text"].to_pylist()
    assert [(row["conversation_id"], row["piece"], row["first_ordinal"], row["last_ordinal"]) for row in rows(units)] == [
        ("v", 0, 0, 6), ("v", 1, 7, 7), ("w", 0, 0, 0),
    ]  # fmt: skip
    assert [(row["outcome"], row["units"], row["calls"], row["exact"]) for row in rows(units)] == [
        ("extracted", 7, 1, 7), ("extracted", 1, 1, 1), ("extracted", 1, 1, 1),
    ]  # fmt: skip
    assert units.extractions.schema == EXTRACTIONS.schema
    units.extractions.validate(full=True)
    assert (units.dead, units.unfinished) == ((), {})
    assert model.abouts[0] == "conversation 'v', turns 0-6"
    assert shown(model.requests[0])[0] == {"session_date": "8 May, 2023", "speakers": ["Bob", "Ann"]}
    assert shown(model.requests[1])[0]["session_date"] is None


def test_what_is_asked_first_is_known_before_anything_is_asked(turns_of: TurnsOf) -> None:
    blank = turns_of({"v": [(None, [("Ann", "x")]), (None, [("Bob", "y")])]})
    blank = blank.set_column(blank.schema.get_field_index("text"), "text", pa.array([" \n", "y"], pa.string()))
    # The last is cut in parts before it is asked.
    for turns in (turns_of(TALK), blank, turns_of({"v": [(None, [("Ann", f"{WORDS} " * 20)] * 30)]})):
        for spec in ("artifacts", "artifacts-x:granularity=turn,max_output_tokens=512", "artifacts-y:second_pass=true"):
            parsed = spec_of(spec, model="m")
            how = asking(parsed)
            assert how
            expected = list(how.first_requests(parsed, turns))
            _, model = made(turns, lambda _: '{"artifacts": []}', spec)
            assert [request for request in model.requests if len(request.messages) == 2] == expected


def test_every_request_is_sampled_as_the_settings_say(turns_of: TurnsOf) -> None:
    spec = "artifacts-s:seed=7,temperature=0.5,second_pass=true"
    _, model = made(turns_of(TALK), lambda request: every_turn(request) if len(request.messages) > 2 else "no", spec)
    assert {len(request.messages) for request in model.requests} >= {2, 4}
    assert {(request.seed, request.temperature) for request in model.requests} == {(7, 0.5)}


def test_a_cut_reply_is_split_and_asked_again(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)

    def script(request: Request) -> tuple[str, str] | str:
        text = every_turn(request)
        return ("cut", text[:-5]) if len(shown(request)[1]) > 2 else text

    units, model = made(turns, script)
    assert spoken(units) == turns["text"].to_pylist()
    of_v = [row for row in rows(units) if row["conversation_id"] == "v"]
    assert [(row["first_ordinal"], row["last_ordinal"]) for row in of_v] == [(0, 0), (1, 2), (3, 4), (5, 6), (7, 7)]
    assert [row["piece"] for row in of_v] == list(range(5))
    assert sum(row["splits"] for row in rows(units)) == 3
    assert sum(row["calls"] for row in rows(units)) == len(model.requests) == 9
    assert {row["outcome"] for row in rows(units)} == {"extracted"}
    assert sum(row["source_chars"] for row in rows(units)) == sum(map(len, turns["text"].to_pylist()))
    assert units.dead == ()


def test_an_input_that_is_too_long_is_split_within_a_turn(turns_of: TurnsOf) -> None:
    text = " ".join(f"fact number {n} stands here." for n in range(120))
    turns = turns_of({"v": [("8 May", [("Ann", text)])]})

    def script(request: Request) -> tuple[str, str] | str:
        return ("too_long", "") if len(shown(request)[1][0]["text"]) > 1200 else every_turn(request)

    units, _ = made(turns, script)
    assert "".join(spoken(units)) == text
    assert [(row["first_ordinal"], row["last_ordinal"]) for row in rows(units)] == [(0, 0)] * 4
    assert {row["grounding"] for row in units.provenance.to_pylist()} == {"exact"}
    (start,) = turns["char_start"].to_pylist()
    canonical = f"Ann: {text}"
    for piece, quote in zip(units.provenance.to_pylist(), spoken(units), strict=True):
        assert canonical[piece["char_start"] - start : piece["char_end"] - start] == quote.strip()


def test_a_turn_that_cannot_be_cut_further_is_a_dead_letter_with_the_raw_reply(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    units, model = made(turns, lambda _: ("cut", '{"artifacts": [{"ty'))
    assert units.units.num_rows == 0
    assert {(row["outcome"], row["reason"]) for row in rows(units)} == {("failed", "cut")}
    assert [row["first_ordinal"] for row in rows(units)] == [*range(8), 0]
    assert len(units.dead) == 9
    letter = units.dead[3]
    assert (letter.stage, letter.reason, letter.scope, letter.outcome) == ("extract", "cut", "turn", "dropped")
    assert letter.payload == '{"artifacts": [{"ty'
    assert "conversation 'v', turn 3" in letter.error
    assert len(model.requests) == 13 + 1 + 1


@pytest.mark.parametrize("outcome", ["refused", "filtered", "rejected"])
def test_a_piece_that_the_server_will_not_have_is_a_dead_letter_and_the_others_land(
    turns_of: TurnsOf, outcome: str
) -> None:
    def script(request: Request) -> tuple[str, str] | str:
        return (outcome, "") if "number 3" in request.messages[1].content else every_turn(request)

    units, model = made(turns_of(TALK), script)
    assert [(row["outcome"], row["reason"]) for row in rows(units)] == [
        ("failed", outcome), ("extracted", None), ("extracted", None),
    ]  # fmt: skip
    assert len(model.requests) == 3
    (letter,) = units.dead
    assert (letter.reason, letter.payload) == (outcome, None)
    assert f"the server says {outcome}" in letter.error
    assert units.unfinished == {}


@pytest.mark.parametrize("outcome", ["transient", "missing"])
def test_what_may_pass_is_named_so_that_the_next_run_asks_again(turns_of: TurnsOf, outcome: str) -> None:
    units, _ = made(
        turns_of(TALK), lambda request: (outcome, "") if "11" in request.messages[1].content else every_turn(request)
    )
    assert list(units.unfinished) == ["w"]
    (row,) = [row for row in rows(units) if row["conversation_id"] == "w"]
    assert units.unfinished["w"] == (row["request_hash"],)
    assert (row["outcome"], row["reason"]) == ("failed", outcome)
    assert [letter.reason for letter in units.dead] == [outcome]


def test_all_that_may_pass_of_a_conversation_is_named(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of(TALK), lambda _: ("transient", ""))
    hashes = [row["request_hash"] for row in rows(units)]
    assert units.unfinished == {"v": tuple(hashes[:2]), "w": tuple(hashes[2:])}


def test_a_reply_that_is_no_json_is_repaired_and_counted(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str:
        return every_turn(request) if len(request.messages) > 2 else "Sure! Here you are."

    units, model = made(turns_of(TALK), script)
    assert units.units.num_rows == 9
    assert [(row["calls"], row["repairs"]) for row in rows(units)] == [(2, 1)] * 3
    assert "Sure! Here you are." in model.requests[-1].messages[2].content


def test_a_reply_that_stays_no_json_is_a_dead_letter_with_the_raw_reply(turns_of: TurnsOf) -> None:
    units, model = made(turns_of(TALK), lambda _: "I'd rather not.")
    assert {(row["outcome"], row["reason"], row["calls"], row["repairs"]) for row in rows(units)} == {
        ("failed", "invalid", 3, 2)
    }
    assert len(model.requests) == 9
    assert {letter.payload for letter in units.dead} == {"I'd rather not."}


GOOD = {"turn": 1, "speaker": "Cy", "text": f"she {WORDS} 11"}
BROKEN = [
    "not an object",
    None,
    item(GOOD, type="secret"),
    item(GOOD, confidence=1.5),
    item(GOOD, confidence="high"),
    item(GOOD, turns="1"),
    item(GOOD, content="  "),
    item(GOOD, content=None),
    {"content": "no type"},
]


@pytest.mark.parametrize("wrong", BROKEN, ids=str)
def test_an_item_that_breaks_the_schema_is_dropped_and_counted_and_the_others_stay(
    turns_of: TurnsOf, wrong: Any
) -> None:
    reply = json.dumps({"artifacts": [wrong, item(GOOD)]})
    units, _ = made(turns_of({"w": TALK["w"]}), lambda _: reply)
    (row,) = rows(units)
    assert (row["outcome"], row["units"], row["dropped"], row["reason"]) == ("extracted", 1, 1, None)
    (letter,) = units.dead
    assert (letter.reason, letter.scope, letter.outcome) == ("invalid_items", "unit", "dropped")
    assert letter.payload == reply


@pytest.mark.parametrize(
    "reply",
    [
        [item(GOOD)],
        {"artifacts": [{**item(GOOD), "context": "why", "id": 7}]},
        {"artifacts": [{name: value for name, value in item(GOOD).items() if name != "resolved_time"}], "note": "hi"},
    ],
)
def test_an_item_that_says_more_or_leaves_out_what_may_be_null_is_kept(turns_of: TurnsOf, reply: Any) -> None:
    units, _ = made(turns_of({"w": TALK["w"]}), lambda _: json.dumps(reply))
    (row,) = rows(units)
    assert (row["outcome"], row["units"], row["dropped"]) == ("extracted", 1, 0)
    assert units.dead == ()


def test_nothing_found_is_no_failure(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of(TALK), lambda _: '{"artifacts": []}')
    assert {(row["outcome"], row["reason"], row["units"]) for row in rows(units)} == {("empty", None, 0)}
    assert (units.units.num_rows, units.dead) == (0, ())


def test_a_blank_piece_is_accounted_for_and_not_asked_about(turns_of: TurnsOf) -> None:
    turns = turns_of({"v": [(None, [("Ann", "x"), ("Bob", "y")])]})
    blank = turns.set_column(turns.schema.get_field_index("text"), "text", pa.array([" ", "\n"], pa.string()))
    units, model = made(blank, every_turn)
    assert model.requests == []
    (row,) = rows(units)
    assert (row["outcome"], row["calls"], row["request_hash"], row["tokens_in"]) == ("empty", 0, None, None)


def missed(request: Request) -> bool:
    return len(request.messages) == 4


def test_a_second_pass_adds_what_was_missed_and_merges_what_was_not(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str:
        turns = shown(request)[1]
        found = [item(turn) for turn in (turns if missed(request) else turns[:1])]
        return json.dumps({"artifacts": found})

    units, model = made(turns_of(TALK), script, "artifacts-twice:second_pass=true")
    assert units.units.num_rows == 9
    assert [(row["calls"], row["units"], row["duplicates"]) for row in rows(units)] == [(2, 7, 1), (2, 1, 1), (2, 1, 1)]
    second = next(request for request in model.requests if missed(request))
    assert second.messages[:2] in [request.messages for request in model.requests]
    assert second.messages[2].role == "assistant"
    assert second.messages[3].content == prompt("artifacts-missed")


def test_a_second_pass_that_fails_leaves_the_first_and_says_so(turns_of: TurnsOf) -> None:
    for outcome, waiting in (("refused", False), ("transient", True)):
        units, _ = made(
            turns_of({"w": TALK["w"]}),
            lambda request, outcome=outcome: (outcome, "") if missed(request) else every_turn(request),
            "artifacts-twice:second_pass=true",
        )
        (row,) = rows(units)
        assert (row["outcome"], row["reason"], row["units"], row["calls"]) == (
            "extracted",
            f"second_pass_{outcome}",
            1,
            2,
        )
        (letter,) = units.dead
        assert (letter.reason, letter.outcome) == (f"second_pass_{outcome}", "kept")
        assert bool(units.unfinished) == waiting


def test_what_was_found_to_be_empty_is_asked_about_once_more_and_what_failed_is_not(turns_of: TurnsOf) -> None:
    def script(request: Request) -> tuple[str, str] | str:
        if "11" in request.messages[1].content:
            return "refused", ""
        return every_turn(request) if missed(request) else '{"artifacts": []}'

    units, model = made(turns_of(TALK), script, "artifacts-twice:second_pass=true")
    assert [(row["outcome"], row["reason"], row["units"], row["calls"]) for row in rows(units)] == [
        ("extracted", None, 7, 2), ("extracted", None, 1, 2), ("failed", "refused", 0, 1),
    ]  # fmt: skip
    assert len(model.requests) == 5


def test_what_either_pass_drops_is_counted(turns_of: TurnsOf) -> None:
    for of_second, reason in (([item(GOOD), *BROKEN[:2]], None), (BROKEN[:2], "second_pass_invalid")):

        def script(request: Request, of_second: list[Any] = of_second) -> str:
            asked_again = any(message.content == prompt("artifacts-missed") for message in request.messages)
            return json.dumps({"artifacts": of_second if asked_again else [item(GOOD), *BROKEN]})

        units, _ = made(turns_of({"w": TALK["w"]}), script, "artifacts-twice:second_pass=true")
        (row,) = rows(units)
        assert (row["outcome"], row["reason"], row["units"]) == ("extracted", reason, 1)
        assert row["dropped"] == len(BROKEN) + 2


@pytest.mark.parametrize("passes", ["false", "true"])
@pytest.mark.parametrize("seed", range(4))
def test_the_sums_hold_whatever_the_replies_are(turns_of: TurnsOf, seed: int, passes: str) -> None:
    tokens: list[tuple[int, int]] = []

    def script(request: Request) -> tuple[str, str] | str:
        luck = Random(f"{seed} {request.hash('')}").random()
        if luck < 0.1:
            return "refused", ""
        text = "no JSON" if luck < 0.4 else every_turn(request)
        tokens.append((len(request.messages[-1].content), len(text)))
        return ("cut", text) if luck > 0.7 else text

    talk = {f"v{n}": [(None, [("Ann", f"I {WORDS} {n} and {turn}") for turn in range(7)])] for n in range(30)}
    units, model = made(turns_of(talk), script, f"artifacts-sums:second_pass={passes}")
    told = rows(units)
    assert sum(row["calls"] for row in told) == len(model.requests)
    repairs = [
        request for request in model.requests if request.messages[-1].content.startswith("That reply cannot be used")
    ]
    assert sum(row["repairs"] for row in told) == len(repairs) > 0
    assert sum(row["tokens_in"] or 0 for row in told) == sum(asked for asked, _ in tokens)
    assert sum(row["tokens_out"] or 0 for row in told) == sum(said for _, said in tokens)
    assert sum(row["splits"] for row in told) == len(told) - 30 > 0  # each split makes one piece more


def test_tokens_that_no_server_counted_are_unknown_and_not_none_at_all(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of(TALK), lambda _: ("refused", ""))
    assert {(row["tokens_in"], row["tokens_out"]) for row in rows(units)} == {(None, None)}


def test_a_second_pass_that_was_cut_is_split_with_its_first(turns_of: TurnsOf) -> None:
    def script(request: Request) -> tuple[str, str] | str:
        if missed(request):
            return ("cut", "{") if len(shown(request)[1]) > 4 else '{"artifacts": []}'
        return every_turn(request)

    units, model = made(turns_of(TALK), script, "artifacts-twice:second_pass=true")
    assert units.units.num_rows == 9
    assert sum(row["calls"] for row in rows(units)) == len(model.requests) == 10
    assert sum(row["splits"] for row in rows(units)) == 1
    assert units.dead == ()


def test_a_reply_has_room_for_twice_what_it_is_expected_to_take(turns_of: TurnsOf) -> None:
    assert reply_room(1, 8192) == LEAST_REPLY_TOKENS
    assert reply_room(1000, 8192) == 2000
    assert reply_room(9000, 8192) == 8192
    assert [text_tokens(text) for text in ("", "abc", "abcd", "日本")] == [0, 1, 2, 2]
    long = [("Ann", "word " * 100) for _ in range(40)]
    units, model = made(turns_of({"v": [("8 May", long)]}), every_turn)
    assert units.extractions.num_rows > 1
    for request in model.requests:
        turns = shown(request)[1]
        need = sum(2 * text_tokens(turn["text"]) + 40 for turn in turns)
        assert request.max_tokens == 2 * need <= 8192
    assert sum(row["splits"] for row in rows(units)) == 0


def test_context_is_shown_and_not_numbered(turns_of: TurnsOf) -> None:
    _, model = made(turns_of(TALK), lambda _: '{"artifacts": []}', "artifacts-c:granularity=turn,context=2")
    third = shown(model.requests[2])[1]
    assert [("turn" in line, line.get("before")) for line in third] == [(False, True), (False, True), (True, None)]
    assert len(shown(model.requests[7])[1]) == 1  # another session


def test_a_stopped_run_stops_at_once_with_its_reason(turns_of: TurnsOf) -> None:
    def script(_: Request) -> str:
        raise ModelStoppedError("no quota", code="model_quota")

    model = ScriptedModel(script)
    turns = turns_of({f"v{n}": TALK["v"] for n in range(1500)})
    with pytest.raises(ModelStoppedError, match="no quota"):
        asyncio.run(ARTIFACTS.asking.build(spec_of("artifacts", model="m"), turns, model))
    assert len(model.requests) <= 1000


@given(st.integers(0, 30), st.integers(1, 5))
def test_things_are_done_some_at_a_time_and_come_back_in_order(count: int, at_once: int) -> None:
    now = most = 0

    async def work(thing: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(thing % 3):
            await asyncio.sleep(0)
        now -= 1
        return thing * 2

    assert asyncio.run(each(work, list(range(count)), at_once=at_once)) == [2 * n for n in range(count)]
    assert most <= at_once


def test_many_pieces_are_under_way_together_and_never_too_many(turns_of: TurnsOf) -> None:
    turns = turns_of({f"v{n:04}": [(None, [("Ann", f"fact number {n}")])] for n in range(2500)})
    units, model = made(turns, every_turn)
    assert units.units.num_rows == 2500
    assert 500 < model.most_at_once <= 1000


def test_each_text_that_decides_what_comes_out_is_part_of_the_settings_hash_s_material() -> None:
    asked = PieceRequest(
        model="m", system="s", reminder="r", schema_name="n", schema={}, items="i", missed="x",
        need=lambda _: 1, max_output_tokens=512,
    )  # fmt: skip
    changes: list[dict[str, Any]] = [
        {"system": "o"},
        {"reminder": "o"},
        {"missed": "o"},
        {"schema": {"type": "object"}},
    ]
    for change in changes:
        assert material_of(replace(asked, **change)) != material_of(asked), change


def test_prompts_are_found_by_name_and_never_by_path() -> None:
    assert {"artifacts", "artifacts-missed", "reminder"} <= set(prompt_names())
    for name in ("artifact", "../prompts/artifacts", "", "artifacts.md"):
        with pytest.raises(NotFoundError, match="artifacts"):
            prompt(name)
