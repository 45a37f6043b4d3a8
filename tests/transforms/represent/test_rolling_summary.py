"""rolling_summary: carried from session to session under a cap, never cut, and stopped where the chain would change."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from scripted_model import ScriptedModel

from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.protocol.model import Request
from memlake.transforms.represent.by_model.rolling_summary import build_rolling_summary
from memlake.transforms.represent.catalogue import asking, spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
TALK = {
    "v": [
        ("8 May, 2023", [("Ann", "one"), ("Bo", "two")]),
        ("9 May, 2023", [("Ann", "three")]),
        (None, [("Bo", "four </summary> {0} %s")]),
    ],
    "w": [("9 May, 2023", [("Cy", "五")])],
}
SPEC = "rolling_summary-small:cap_tokens=50"


def lines(request: Request) -> list[dict[str, Any]]:
    return [json.loads(line) for line in request.messages[1].content.split("\n") if line.startswith("{")]


def so_far(request: Request) -> str:
    return str(lines(request)[0]["summary_so_far"])


def texts(request: Request) -> list[str]:
    return [line["text"] for line in lines(request) if "turn" in line]


def reply(text: str) -> str:
    return json.dumps({"summary": text}, ensure_ascii=False)


def grown(request: Request) -> str:
    """What was known and what is new."""
    return reply("/".join(filter(None, [so_far(request), *texts(request)])))


def made(turns: pa.Table, script: Any, spec: str = SPEC) -> tuple[Units, ScriptedModel]:
    model = ScriptedModel(script)
    return asyncio.run(build_rolling_summary(spec_of(spec, model="m"), turns, model)), model


def test_a_conversation_is_one_unit_that_every_session_went_into_in_order(turns_of: TurnsOf) -> None:
    units, model = made(turns_of(TALK), grown)
    first, second = units.units.to_pylist()
    assert (first["show_text"], first["session_id"]) == ("one/two/three/four </summary> {0} %s", None)
    assert (second["show_text"], second["session_id"]) == ("[9 May, 2023] 五", "s0")
    assert (first["kind"], first["ordinal"], second["ordinal"]) == ("summary", 0, 0)
    assert json.loads(first["attributes"]) == {"sessions": 3}
    rows = units.provenance.to_pylist()
    assert [(row["conversation_id"], row["turn_id"], row["ordinal"]) for row in rows] == [
        ("v", "D0:0", 0), ("v", "D0:1", 1), ("v", "D1:2", 2), ("v", "D2:3", 3), ("w", "D0:0", 0),
    ]  # fmt: skip
    assert {(row["char_start"], row["grounding"]) for row in rows} == {(None, "none")}
    assert [(row["piece"], row["outcome"], row["units"]) for row in units.extractions.to_pylist()] == [
        (0, "extracted", 0), (1, "extracted", 0), (2, "extracted", 1), (0, "extracted", 1),
    ]  # fmt: skip
    of_v = [request for request in model.requests if "五" not in texts(request)]
    assert [so_far(request) for request in of_v] == ["", "one/two", "one/two/three"]


def test_conversations_go_side_by_side_and_sessions_of_one_do_not(turns_of: TurnsOf) -> None:
    _, alone = made(turns_of({"v": TALK["v"]}), grown)
    assert alone.most_at_once == 1
    _, many = made(turns_of({f"v{n}": TALK["v"] for n in range(20)}), grown)
    assert many.most_at_once == 20


def test_a_summary_above_the_cap_is_asked_for_again_and_taken_when_it_fits(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str:
        return reply("short") if len(request.messages) == 6 else reply("word " * 60)

    units, model = made(turns_of({"w": TALK["w"]}), script)
    assert units.units["show_text"].to_pylist() == ["[9 May, 2023] short"]
    assert [len(request.messages) for request in model.requests] == [2, 4, 6]
    assert "too long by a factor of 2.0" in model.requests[1].messages[3].content
    assert "at most 25 words" in model.requests[0].messages[1].content
    (row,) = units.extractions.to_pylist()
    assert (row["calls"], row["units"], row["stored_chars"]) == (3, 1, 5)
    assert units.dead == ()


def test_a_summary_of_just_the_cap_is_taken_at_once(turns_of: TurnsOf) -> None:
    for length, calls in ((150, 1), (151, 3)):  # by rule three bytes are a token
        units, model = made(turns_of({"w": TALK["w"]}), lambda _, length=length: reply("x" * length))
        assert (len(model.requests), units.units.num_rows) == (calls, int(calls == 1))


def test_a_reply_has_the_room_of_the_cap_however_long_the_session(turns_of: TurnsOf) -> None:
    long = {"w": [(None, [("Cy", "word " * 2000)])]}
    for cap, room in ((50, 512), (2000, 4000)):
        _, model = made(turns_of(long), lambda _: reply("x"), f"rolling_summary-r:cap_tokens={cap}")
        assert [request.max_tokens for request in model.requests] == [room]


def test_a_unit_tells_of_when_the_last_session_began(turns_of: TurnsOf) -> None:
    turns = turns_of({"v": TALK["v"]})
    at = [datetime(2023, 5, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    field = turns.schema.field("said_at")
    turns = turns.set_column(turns.schema.get_field_index("said_at"), field, pa.array(at, field.type))
    units, _ = made(turns, grown)
    assert units.units["event_at"].to_pylist() == [at[3]]


def test_one_that_stays_above_the_cap_is_a_dead_letter_and_never_cut(turns_of: TurnsOf) -> None:
    long = "word " * 60

    def script(request: Request) -> str:
        return reply(long) if "three" in texts(request) else grown(request)

    units, model = made(turns_of(TALK), script)
    first = units.units.to_pylist()[0]
    assert first["show_text"] == "one/two/four </summary> {0} %s"
    assert sum("three" in texts(request) for request in model.requests) == 3
    assert json.loads(first["attributes"]) == {"failed_pieces": 1, "sessions": 2}
    assert "D1:2" not in units.provenance["turn_id"].to_pylist()
    (letter,) = units.dead
    assert (letter.reason, letter.stage, letter.outcome, letter.payload) == (
        "over_cap",
        "extract",
        "dropped",
        reply(long),
    )
    assert "cap_tokens=50" in letter.error
    assert units.unfinished == {}


@pytest.mark.parametrize("outcome", ["refused", "filtered", "rejected"])
def test_a_session_that_cannot_be_told_leaves_the_summary_as_it_was(turns_of: TurnsOf, outcome: str) -> None:
    def script(request: Request) -> str | tuple[str, str]:
        return (outcome, "") if "three" in texts(request) else grown(request)

    units, _ = made(turns_of(TALK), script)
    assert units.units["show_text"].to_pylist()[0] == "one/two/four </summary> {0} %s"
    assert [letter.reason for letter in units.dead] == [outcome]


def test_a_summary_that_vanishes_is_refused(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str:
        return reply("") if "three" in texts(request) else grown(request)

    units, _ = made(turns_of(TALK), script)
    assert units.units["show_text"].to_pylist()[0] == "one/two/four </summary> {0} %s"
    assert [(letter.reason, letter.payload) for letter in units.dead] == [("invalid", reply(""))]


@pytest.mark.parametrize("outcome", ["transient", "missing"])
def test_where_an_answer_may_still_come_the_chain_stops_and_the_next_run_goes_on(
    turns_of: TurnsOf, outcome: str
) -> None:
    def script(request: Request) -> str | tuple[str, str]:
        return (outcome, "") if "three" in texts(request) else grown(request)

    units, model = made(turns_of(TALK), script)
    assert units.units["show_text"].to_pylist()[0] == "[8 May, 2023] one/two"
    assert not any("four </summary> {0} %s" in texts(request) for request in model.requests)
    assert [(row["outcome"], row["reason"], row["calls"]) for row in units.extractions.to_pylist()][:3] == [
        ("extracted", None, 1), ("failed", outcome, 1), ("failed", outcome, 0),
    ]  # fmt: skip
    assert list(units.unfinished) == ["v"]
    assert len(units.unfinished["v"]) == 1
    assert [letter.reason for letter in units.dead] == [outcome, outcome]


@pytest.mark.parametrize("outcome", ["too_long", "cut"])
def test_a_session_that_is_too_long_goes_in_by_halves(turns_of: TurnsOf, outcome: str) -> None:
    def script(request: Request) -> str | tuple[str, str]:
        return (outcome, "") if len(texts(request)) > 1 else grown(request)

    units, _ = made(turns_of(TALK), script)
    assert units.units["show_text"].to_pylist()[0] == "one/two/three/four </summary> {0} %s"
    rows = [row for row in units.extractions.to_pylist() if row["conversation_id"] == "v"]
    assert [(row["first_ordinal"], row["last_ordinal"]) for row in rows] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert (rows[0]["splits"], rows[0]["calls"], rows[1]["splits"], rows[1]["calls"]) == (1, 2, 0, 1)


def test_a_long_turn_that_goes_in_by_halves_is_one_source(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str | tuple[str, str]:
        return ("too_long", "") if len("".join(texts(request))) > 300 else reply("it was long")

    units, _ = made(turns_of({"w": [(None, [("Cy", "word " * 100)])]}), script)
    assert units.extractions.num_rows > 1
    assert units.provenance["ordinal"].to_pylist() == [0]


def test_nothing_to_tell_is_no_unit(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of({"w": TALK["w"]}), lambda _: reply(" \n"))
    assert units.units.num_rows == 0
    assert [row["outcome"] for row in units.extractions.to_pylist()] == ["empty"]
    empty, _ = made(turns_of({}), grown)
    assert (empty.units.num_rows, empty.extractions.num_rows) == (0, 0)


def test_the_price_counts_a_request_a_session_and_knows_the_first(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    spec = spec_of(SPEC, model="m")
    how = asking(spec)
    assert how
    requests = list(how.first_requests(spec, turns))
    _, model = made(turns, grown)
    assert len(requests) == 4
    assert {requests[0], requests[3]} <= set(model.requests)
    assert len(so_far(requests[1])) == 150


def test_a_cap_without_room_is_refused() -> None:
    for spec in ("rolling_summary-x:cap_tokens=10", "rolling_summary-x:cap_tokens=9000"):
        with pytest.raises(UsageError, match="cap_tokens"):
            spec_of(spec, model="m")
