"""artifacts as a published study asks for them: by batch, under a cap that loses what does not fit; one switch a defect."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from scripted_model import ScriptedModel, every_turn, item, shown

from memlake.schemas.table import settings_json
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import content_id
from memlake.transforms.llm.protocol.model import Request
from memlake.transforms.represent.by_model.artifacts import ARTIFACTS, QUOTED
from memlake.transforms.represent.by_model.asked import PUBLISHED_SETTINGS, material_of
from memlake.transforms.represent.by_model.pieces import halves, pieces_of
from memlake.transforms.represent.catalogue import REPRESENTATIONS, spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
PUBLISHED = (
    "artifacts-published:granularity=batch,turns=40,order=by_side,prompt=artifacts-published,second_pass=true,merge=overlap,"
    "on_cut=drop,repairs=0,max_output_tokens=1000,temperature=0.1,key=content_quote,header=none"
)
DATES = ("8 May, 2023", "9 May, 2023")
# Four folded turns, the second of which mixes two sessions.
TALK = {
    "v": [
        (DATES[0], [("Ann", "We sail at dawn."), ("Bo", "With the red boat?"), ("Ann", "No, with the old one.")]),
        (
            DATES[1],
            [
                ("Bo", "It leaks a little."),
                ("Ann", "I mended it in March."),
                ("Bo", "Then all is well."),
                ("Bo", "See you."),
            ],
        ),
    ]
}


def made(turns: pa.Table, script: Any, spec: str) -> tuple[Units, ScriptedModel]:
    model = ScriptedModel(script)
    return asyncio.run(ARTIFACTS.asking.build(spec_of(spec, model="m"), turns, model)), model


def long(turns_of: TurnsOf, count: int = 90) -> pa.Table:
    return turns_of(
        {
            "v": [
                (DATES[0], [("Ann" if n % 2 else "Bo", f"Thing number {n} stands here, it does") for n in range(count)])
            ]
        }
    )


def test_a_batch_is_so_many_folded_turns_across_sessions(turns_of: TurnsOf) -> None:
    turns = turns_of({**TALK, "w": TALK["v"]})

    def ordinals(**settings: Any) -> list[list[int]]:
        pieces = pieces_of(turns, granularity="batch", **settings)
        return [[turn.ordinal for turn in piece.turns] for piece in pieces]

    assert ordinals(count=2) == [[0, 1, 2, 3], [4, 5, 6]] * 2
    assert ordinals(count=2, folds="within_sessions") == [[0, 1, 2], [3, 4, 5], [6]] * 2
    assert ordinals(count=2, user="Bo") == [[0, 1, 2], [3, 4, 5, 6]] * 2
    assert ordinals(count=40) == [[*range(7)]] * 2
    first, second, *_ = pieces_of(turns, granularity="batch", count=2, context=9)
    assert (first.session_id, first.session_label) == (None, None)
    assert (second.session_id, second.session_label) == ("s1", DATES[1])
    assert [turn.ordinal for turn in second.context] == [0, 1, 2, 3]
    parts = halves(first)
    assert parts
    assert [(part.session_id, part.session_label) for part in parts] == [("s0", DATES[0]), (None, None)]


def test_the_users_sides_stand_first_under_their_numbers_and_they_alone_are_dated(turns_of: TurnsOf) -> None:
    _, model = made(turns_of(TALK), every_turn, PUBLISHED)
    known, lines = shown(model.requests[0])
    assert known == {"speakers": ["Ann", "Bo"]}
    assert [line["turn"] for line in lines] == [1, 3, 5, 2, 4, 6, 7]
    assert [line.get("session_date") for line in lines] == [DATES[0], DATES[0], DATES[1], None, None, None, None]
    assert not any("session_date" in line for line in lines[3:])
    _, model = made(turns_of(TALK), every_turn, "artifacts-b:granularity=batch,turns=40")
    known, lines = shown(model.requests[0])
    assert [line["turn"] for line in lines] == [*range(1, 8)]
    assert [line["session_date"] for line in lines] == [DATES[0]] * 3 + [DATES[1]] * 4


def test_an_item_of_a_batch_has_the_session_of_its_quote(turns_of: TurnsOf) -> None:
    spec = "artifacts-b:granularity=batch,turns=40,order=by_side"
    units, _ = made(turns_of(TALK), every_turn, spec)
    rows = units.units.to_pylist()
    assert [row["session_id"] for row in rows] == ["s0", "s0", "s1", "s0", "s1", "s1", "s1"]
    assert all(row["show_text"].startswith(f"[{DATES[row['session_id'] == 's1']}] ") for row in rows)
    assert units.provenance["ordinal"].to_pylist() == [0, 2, 4, 1, 3, 5, 6]
    (piece,) = units.extractions.to_pylist()
    assert (piece["session_id"], piece["first_ordinal"], piece["last_ordinal"], piece["exact"]) == (None, 0, 6, 7)

    def doubtful(_: Request) -> str:
        return json.dumps({"artifacts": [item({"turn": 1, "speaker": "Ann", "text": "nobody said so"}, turns=[])]})

    units, _ = made(turns_of(TALK), doubtful, spec)
    (unit,) = units.units.to_pylist()
    assert (unit["session_id"], unit["header_chars"]) == (None, 0)


def test_what_is_shown_and_indexed_can_go_without_the_date(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    dated, asked = made(turns, every_turn, "artifacts-s:key=content_quote")
    bare, same = made(turns, every_turn, "artifacts-s:key=content_quote,header=none")
    assert [request.hash("p") for request in asked.requests] == [request.hash("p") for request in same.requests]
    assert bare.units["header_chars"].to_pylist() == [0] * 7
    for column in ("show_text", "key_text"):
        cut = [row[column][row["header_chars"] :] for row in dated.units.to_pylist()]
        assert bare.units[column].to_pylist() == cut


def cut_when_long(request: Request) -> tuple[str, str] | str:
    text = every_turn(request)
    return ("cut", text[:4000]) if len(text) > 4000 else text


def test_a_reply_that_is_cut_at_the_cap_loses_its_batch_whole(turns_of: TurnsOf) -> None:
    turns = long(turns_of)
    units, model = made(turns, cut_when_long, PUBLISHED.replace("second_pass=true", "second_pass=false"))
    assert [request.max_tokens for request in model.requests] == [1000, 1000]
    rows = units.extractions.to_pylist()
    assert [(row["outcome"], row["reason"], row["units"], row["calls"], row["splits"], row["repairs"]) for row in rows] == [
        ("failed", "cut", 0, 1, 0, 0), ("extracted", None, 10, 1, 0, 0),
    ]  # fmt: skip
    assert [(row["first_ordinal"], row["last_ordinal"]) for row in rows] == [(0, 79), (80, 89)]
    assert set(units.provenance["ordinal"].to_pylist()) == set(range(80, 90))
    (letter,) = units.dead
    assert (letter.reason, letter.outcome, len(letter.payload or "")) == ("cut", "dropped", 4000)


def test_the_same_batch_is_split_and_kept_when_it_may_be(turns_of: TurnsOf) -> None:
    turns = long(turns_of)
    spec = "artifacts-kept:granularity=batch,turns=40,order=by_side,on_cut=split,repairs=0,max_output_tokens=1000"
    units, _ = made(turns, cut_when_long, spec)
    assert set(units.provenance["ordinal"].to_pylist()) == set(range(90))
    assert {row["outcome"] for row in units.extractions.to_pylist()} == {"extracted"}
    assert units.dead == ()


def test_no_reply_is_asked_for_again_without_repairs(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    for repairs, calls in ((0, 1), (1, 2), (2, 3)):
        units, model = made(turns, lambda _: "{", f"artifacts-r:granularity=batch,turns=40,repairs={repairs}")
        assert len(model.requests) == calls
        assert units.extractions["reason"].to_pylist() == ["invalid"]


def second(request: Request) -> bool:
    return len(request.messages) == 4


@pytest.mark.parametrize(
    ("first", "gleaned", "kept"),
    [
        ("Ann mended the old boat in March", "In March Ann mended the boat", False),  # 6 of 6 words
        ("Ann mended the old boat in March", "Bo mended the old boat in April", True),  # 5 of 7
        ("a b c d e", "a b c d f", True),  # 4 of 5 is not more than 0.8
        ("a b c d e f", "A  B C D E g", False),  # 5 of 6
        ("a b", "a b c d e f", False),
    ],
)
def test_a_gleaned_item_that_shares_most_words_with_a_first_one_is_left_out(
    turns_of: TurnsOf, first: str, gleaned: str, kept: bool
) -> None:
    turns = turns_of({"v": [TALK["v"][0]]})

    def script(request: Request) -> str:
        turn = shown(request)[1][0]
        artifact = (
            item(turn, content=gleaned, type="insight", turns=[2]) if second(request) else item(turn, content=first)
        )
        return json.dumps({"artifacts": [artifact]})

    for merge, expected in (("overlap", 1 + kept), ("same", 2)):
        units, _ = made(turns, script, f"artifacts-g:second_pass=true,merge={merge}")
        (row,) = units.extractions.to_pylist()
        assert (row["units"], row["duplicates"]) == (expected, 2 - expected)


def test_items_of_one_pass_are_never_measured_by_their_words(turns_of: TurnsOf) -> None:
    turns = turns_of({"v": [TALK["v"][0]]})
    turn = {"turn": 1, "speaker": "Ann", "text": "We sail at dawn."}
    reply = json.dumps({"artifacts": [item(turn, content="a b c d e f"), item(turn, content="a b c d e g")]})
    units, _ = made(turns, lambda _: reply, "artifacts-g:merge=overlap")
    assert units.units.num_rows == 2


def test_one_call_a_folded_turn_and_one_a_session_go_under_the_same_cap(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    for granularity, calls in (("batch,turns=1", 4), ("session", 2), ("turn", 7)):
        spec = f"artifacts-x:granularity={granularity},on_cut=drop,max_output_tokens=1000"
        units, model = made(turns, every_turn, spec)
        assert (len(model.requests), {request.max_tokens for request in model.requests}) == (calls, {1000})
        assert sorted(units.provenance["ordinal"].to_pylist()) == [*range(7)]


@pytest.mark.parametrize("kind", [name for name, representation in REPRESENTATIONS.items() if representation.asking])
def test_the_later_settings_at_their_defaults_leave_the_settings_hash_as_it_was(kind: str) -> None:
    spec = spec_of(kind, model="m")
    asking = REPRESENTATIONS[kind].asking
    assert asking
    before = {name: value for name, value in spec.settings.items() if name not in PUBLISHED_SETTINGS}
    hashed = content_id(kind, settings_json(before), spec.revision, *asking.material(spec.settings))
    assert spec.settings_hash == hashed


@pytest.mark.parametrize(
    "changed",
    ["folds=within_sessions", "user=Bo", "order=by_side", "on_cut=drop", "repairs=0", "merge=overlap", "header=none"],
)
def test_each_of_the_later_settings_makes_another_representation(changed: str) -> None:
    plain = spec_of("artifacts-x", model="m").settings_hash
    assert spec_of(f"artifacts-x:{changed}", model="m").settings_hash != plain


@pytest.mark.parametrize(
    "wrong", ["folds=x", "order=x", "on_cut=x", "merge=x", "header=first", "repairs=-1", "granularity=x"]
)
def test_settings_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        spec_of(f"artifacts-x:{wrong}", model="m")


def test_the_published_prompt_and_its_second_pass_decide_the_settings_hash() -> None:
    asked = QUOTED.request(spec_of(PUBLISHED, model="m").settings)
    plain = QUOTED.request(spec_of("artifacts", model="m").settings)
    assert asked.system != plain.system
    assert asked.missed
    assert material_of(asked) != material_of(plain)
