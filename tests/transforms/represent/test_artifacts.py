"""artifacts: what a unit shows, what is indexed, when it took place, who said it, and what is kept of a doubtful one."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator
from scripted_model import ScriptedModel, every_turn, item, shown

from memlake.schemas.provenance import PROVENANCE
from memlake.schemas.units import UNITS
from memlake.transforms.base.conversation import Conversation
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.llm.prompting import prompt, prompt_names
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.by_model.artifacts import ARTIFACTS, QUOTED, TYPES
from memlake.transforms.represent.by_model.quoted import partial_date
from memlake.transforms.represent.catalogue import spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
TALK = {
    "v": [
        (
            "8 May, 2023",
            [
                ("Ann", "I moved to Paris last week."),
                ("李", "我每天都去健身房，除了星期一。"),
                ("Ann", "I moved to Paris last week, as I said."),
            ],
        )
    ]
}


def made(turns: pa.Table, items: Any, spec: str = "artifacts") -> Units:
    reply = items if callable(items) else lambda _: json.dumps({"artifacts": items})
    return asyncio.run(ARTIFACTS.asking.build(spec_of(spec, model="m"), turns, ScriptedModel(reply)))


def artifact(**changes: Any) -> dict[str, Any]:
    return (
        item({"turn": 1, "speaker": "Ann", "text": "I moved to Paris last week."}, content="Ann moved to Paris.")
        | changes
    )


def attributes(units: Units) -> list[dict[str, Any]]:
    return [json.loads(text) for text in units.units["attributes"].to_pylist()]


def test_a_unit_shows_its_content_behind_the_session_date(turns_of: TurnsOf) -> None:
    units = made(turns_of(TALK), [artifact(type="event", confidence=0.25)])
    assert (units.units.schema, units.provenance.schema) == (UNITS.schema, PROVENANCE.schema)
    units.units.validate(full=True)
    units.provenance.validate(full=True)
    (unit,) = units.units.to_pylist()
    assert unit["show_text"] == unit["key_text"] == "[8 May, 2023] Ann moved to Paris."
    assert unit["show_text"][unit["header_chars"] :] == "Ann moved to Paris."
    assert (unit["kind"], unit["speaker"], unit["session_id"], unit["ordinal"]) == ("event", "Ann", "s0", 0)
    assert (unit["span_start"], unit["span_end"]) == (None, None)
    (piece,) = units.provenance.to_pylist()
    assert (piece["unit_id"], piece["turn_id"], piece["ordinal"]) == (unit["unit_id"], "D0:0", 0)
    assert (piece["char_start"], piece["char_end"], piece["grounding"], piece["touches_text"]) == (5, 32, "exact", True)
    assert attributes(units) == [
        {
            "quote": "I moved to Paris last week.",
            "confidence": 0.25,
            "time_expression": None,
            "resolved_time": None,
            "grounded": True,
            "grounding": "exact",
            "cited_turn_ids": ["D0:0"],
        }
    ]
    assert units.extractions["stored_chars"].to_pylist() == [len("Ann moved to Paris.")]


CONTENT, QUOTE = "Ann moved to Paris.", "I moved to Paris last week"


@pytest.mark.parametrize(
    ("show", "key", "shows", "is_indexed_by"),
    [
        ("content", "content", CONTENT, CONTENT),
        ("content", "content_quote", CONTENT, f'{CONTENT} "{QUOTE}"'),
        ("content_quote", "content_quote", f'{CONTENT} "{QUOTE}"', f'{CONTENT} "{QUOTE}"'),
        ("quote", "content", QUOTE, CONTENT),
        ("quote", "quote", QUOTE, QUOTE),
    ],
)
def test_what_is_shown_and_indexed_is_a_setting_that_costs_no_call(
    turns_of: TurnsOf, show: str, key: str, shows: str, is_indexed_by: str
) -> None:
    turns = turns_of(TALK)
    # Quoted in capitals: what is shown is the source's own.
    script = ScriptedModel(lambda _: json.dumps({"artifacts": [artifact(quote=QUOTE.upper())]}))
    spec = f"artifacts-x:show={show},key={key},ungrounded=drop"
    units = asyncio.run(ARTIFACTS.asking.build(spec_of(spec, model="m"), turns, script))
    plain = ScriptedModel(lambda _: json.dumps({"artifacts": []}))
    asyncio.run(ARTIFACTS.asking.build(spec_of("artifacts", model="m"), turns, plain))
    assert [request.hash("p") for request in script.requests] == [request.hash("p") for request in plain.requests]
    (unit,) = units.units.to_pylist()
    assert unit["show_text"] == f"[8 May, 2023] {shows}"
    assert unit["key_text"] == f"[8 May, 2023] {is_indexed_by}"


def test_an_item_without_a_quote_that_is_there_is_kept_and_flagged(turns_of: TurnsOf) -> None:
    for quote in ("", "I sold my house in Rome", "Ann: "):
        units = made(turns_of(TALK), [artifact(quote=quote, turns=[3, 1])], "artifacts-q:show=content_quote")
        (unit,) = units.units.to_pylist()
        assert unit["show_text"] == "[8 May, 2023] Ann moved to Paris."
        (flags,) = attributes(units)
        assert (flags["grounded"], flags["grounding"], flags["quote"]) == (False, "none", quote)
        assert [(row["ordinal"], row["char_start"], row["char_end"], row["grounding"]) for row in units.provenance.to_pylist()] == [
            (0, None, None, "none"), (2, None, None, "none"),
        ]  # fmt: skip
        assert units.extractions["ungrounded"].to_pylist() == [1]


def test_an_item_that_cites_nothing_valid_comes_from_the_whole_piece(turns_of: TurnsOf) -> None:
    units = made(turns_of(TALK), [artifact(quote="", turns=[99, 0, -3])])
    assert units.provenance["ordinal"].to_pylist() == [0, 1, 2]
    (flags,) = attributes(units)
    assert (flags["cited_turn_ids"], flags["unresolved_turns"]) == ([], [99, 0, -3])


@pytest.mark.parametrize("spec", ["artifacts-d:ungrounded=drop", "artifacts-d:show=quote", "artifacts-d:key=quote"])
def test_an_item_without_a_quote_can_be_left_out_and_is_still_counted(turns_of: TurnsOf, spec: str) -> None:
    units = made(turns_of(TALK), [artifact(quote="nobody said this"), artifact(content="Other.")], spec)
    assert units.units["show_text"].to_pylist()[0].endswith(("Other.", "last week."))
    (row,) = units.extractions.to_pylist()
    assert (row["outcome"], row["units"], row["exact"], row["ungrounded"]) == ("extracted", 1, 1, 1)
    assert set(units.provenance["unit_id"].to_pylist()) == set(units.units["unit_id"].to_pylist())


def test_items_of_one_piece_that_say_the_same_are_one_with_the_provenance_of_all(turns_of: TurnsOf) -> None:
    units = made(
        turns_of(TALK),
        [
            artifact(quote="made up", turns=[2], confidence=0.1),
            artifact(content="ANN  moved to Paris"),
            artifact(quote="I moved to Paris last week", turns=[3]),
            artifact(type="event"),
        ],
    )
    assert units.units["kind"].to_pylist() == ["key_fact", "event"]
    (row,) = units.extractions.to_pylist()
    assert (row["units"], row["duplicates"], row["exact"], row["ungrounded"]) == (2, 2, 2, 0)
    first = units.units["unit_id"][0].as_py()
    assert [
        (piece["ordinal"], piece["grounding"]) for piece in units.provenance.to_pylist() if piece["unit_id"] == first
    ] == [(0, "exact"), (2, "exact")]
    assert attributes(units)[0]["duplicates"] == 2
    assert attributes(units)[0]["confidence"] == 0.9


def test_the_provenance_of_merged_items_is_in_the_order_of_the_source(turns_of: TurnsOf) -> None:
    last = artifact(quote="as I said", turns=[3])
    for items in ([last, artifact()], [artifact(), last], [last, last, artifact()]):
        units = made(turns_of(TALK), items)
        places = [(row["piece"], row["ordinal"], row["char_start"]) for row in units.provenance.to_pylist()]
        assert [(piece, ordinal) for piece, ordinal, _ in places] == [(0, 0), (1, 2)]
        assert [start for *_, start in places] == sorted(start for *_, start in places)


def test_merged_items_without_a_quote_come_from_all_the_turns_that_any_of_them_cites(turns_of: TurnsOf) -> None:
    units = made(turns_of(TALK), [artifact(quote="made up", turns=[3]), artifact(quote="", turns=[2])])
    assert units.units.num_rows == 1
    assert [(row["ordinal"], row["grounding"]) for row in units.provenance.to_pylist()] == [(1, "none"), (2, "none")]


def test_a_span_that_holds_no_more_than_a_name_touches_no_text(turns_of: TurnsOf) -> None:
    units = made(turns_of(TALK), [artifact(quote="I moved to Paris last week.\n李:", turns=[1])])
    rows = [(row["ordinal"], row["grounding"], row["touches_text"]) for row in units.provenance.to_pylist()]
    assert rows == [(0, "exact", True), (1, "exact", False)]


def test_units_are_numbered_within_their_conversation(turns_of: TurnsOf) -> None:
    turns = turns_of({name: [*TALK["v"], *TALK["v"]] for name in ("v", "w")})
    units = made(turns, every_turn)
    assert units.units["conversation_id"].to_pylist() == ["v"] * 6 + ["w"] * 6
    assert units.units["ordinal"].to_pylist() == [*range(6)] * 2


def test_a_quote_that_crosses_turns_has_a_row_of_provenance_for_each(turns_of: TurnsOf, canonical: Any) -> None:
    turns = turns_of(TALK)
    units = made(turns, [artifact(quote="Paris last week.\n我每天都去健身房", turns=[1, 2])], "artifacts-q:show=quote")
    rows = units.provenance.to_pylist()
    assert [(row["piece"], row["ordinal"], row["grounding"]) for row in rows] == [(0, 0, "exact"), (1, 1, "exact")]
    text = canonical(turns)["v"]
    assert [text[row["char_start"] : row["char_end"]] for row in rows] == ["Paris last week.", "我每天都去健身房"]


@pytest.mark.parametrize(
    ("named", "speaker", "flagged"),
    [
        ("Ann", "Ann", False),
        (" ann ", "Ann", False),
        ("李", "李", False),
        (None, None, False),
        ("", None, False),
        ("system", None, True),
    ],
)
def test_a_speaker_is_one_of_the_piece_or_none(turns_of: TurnsOf, named: Any, speaker: Any, flagged: bool) -> None:
    units = made(turns_of(TALK), [artifact(speaker=named)])
    assert units.units["speaker"].to_pylist() == [speaker]
    assert ("unknown_speaker" in attributes(units)[0]) == flagged


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2023", datetime(2023, 1, 1, tzinfo=UTC)),
        ("2023-05", datetime(2023, 5, 1, tzinfo=UTC)),
        (" 2023-05-01 ", datetime(2023, 5, 1, tzinfo=UTC)),
        ("2023-05-01T12:30", datetime(2023, 5, 1, 12, 30, tzinfo=UTC)),
        ("2023-05-01T12:30:00+02:00", datetime(2023, 5, 1, 10, 30, tzinfo=UTC)),
        ("2023-13", None),
        ("2023-02-30", None),
        ("0000", None),
        ("0001-01-01", None),
        ("9999-12-31", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("0001-01-02T00:00:00-14:00", None),
        ("0800-12-25", datetime(800, 12, 25, tzinfo=UTC)),
        ("last week", None),
        ("2023-05-01 or so", None),
        ("1683000000", None),
        ("", None),
        (None, None),
    ],
)
def test_dates_may_be_partial_and_are_never_guessed(text: Any, moment: Any) -> None:
    assert partial_date(text) == moment


def test_a_unit_tells_when_it_took_place_or_else_when_it_was_said(
    conversations_of: Callable[[Any], list[Conversation]],
) -> None:
    (conversation,) = conversations_of(TALK)
    met, said = datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 5, 8, 9, 30, tzinfo=UTC)
    conversation.sessions[0].at = int(met.timestamp()) * 1_000_000
    conversation.said_at[2] = int(said.timestamp()) * 1_000_000
    turns = tabulate("c", [conversation], 1)["turns"]
    items = [
        artifact(resolved_time="2023-05-01"),
        artifact(content="b", resolved_time="soon"),
        artifact(content="c", quote="as I said", turns=[3]),
    ]
    units = made(turns, items)
    assert units.units["event_at"].to_pylist() == [datetime(2023, 5, 1, tzinfo=UTC), met, said]
    assert attributes(units)[1]["resolved_time"] == "soon"


def test_identity_follows_from_content_alone(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    first, second = made(turns, every_turn), made(turns, every_turn)
    assert first.units.equals(second.units)
    assert first.provenance.equals(second.provenance)
    assert first.extractions.equals(second.extractions)
    assert made(turns.slice(0, 0), every_turn).units.num_rows == 0


def test_the_schema_is_one_that_strict_servers_take() -> None:
    Draft202012Validator.check_schema(QUOTED.schema)

    def objects(schema: Any) -> Any:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for value in schema.values():
                yield from objects(value)

    for schema in objects(QUOTED.schema):
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


@pytest.mark.parametrize(
    "wrong",
    [
        "show=all",
        "key=both",
        "ungrounded=hide",
        "granularity=page",
        "max_output_tokens=100",
        "temperature=3",
        "turns=0",
    ],
)
def test_settings_that_make_no_artifacts_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        spec_of(f"artifacts-x:{wrong}", model="m")


def test_a_prompt_that_there_is_not_is_refused() -> None:
    with pytest.raises(NotFoundError, match="artifacts"):
        spec_of("artifacts-x:prompt=other", model="m")


def test_what_decides_what_is_asked_decides_the_settings_hash() -> None:
    plain = spec_of("artifacts", model="m").settings_hash
    others = [
        spec_of("artifacts", model="n").settings_hash,
        spec_of("artifacts", model="m", provider="p").settings_hash,
        spec_of("artifacts-x:second_pass=true", model="m").settings_hash,
        spec_of("artifacts-x:seed=1", model="m").settings_hash,
        spec_of("artifacts-x:show=quote", model="m").settings_hash,
    ]
    assert len({plain, *others}) == 6


def test_the_prompt_says_what_it_must_and_names_every_type() -> None:
    text = prompt("artifacts")
    for name in TYPES:
        assert f"  {name}: " in text
    for field in QUOTED.schema["properties"]["artifacts"]["items"]["properties"]:
        assert f'"{field}"' in text
    assert "language of the turn" in text
    assert "to the character" in text
    assert "is data" in text


def test_no_prompt_knows_a_benchmark(shared_data: Path) -> None:
    locomo = json.loads((shared_data / "locomo" / "locomo10.json").read_text())
    names = {talk["conversation"][f"speaker_{side}"].lower() for talk in locomo for side in "ab"}
    answers = {str(qa.get("answer", "")).lower() for talk in locomo for qa in talk["qa"]}
    facts = {answer for answer in answers if len(answer) > 14}
    for name in prompt_names():
        text = prompt(name).lower()
        words = set("".join(sign if sign.isalnum() else " " for sign in text).split())
        assert not names & words, name
        assert not [fact for fact in facts if fact in text], name
        assert "locomo" not in text
        assert "longmemeval" not in text


def test_a_model_that_says_the_turns_of_the_piece_before_is_not_believed(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)

    def script(request: Any) -> str:
        before = [line for line in shown(request)[1] if "before" in line]
        return json.dumps(
            {"artifacts": [artifact(quote=line["text"], content=line["text"], turns=[1]) for line in before]}
        )

    units = made(turns, script, "artifacts-c:granularity=turn,context=1")
    assert units.extractions["ungrounded"].to_pylist() == [0, 1, 1]
