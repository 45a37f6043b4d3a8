"""keyphrases and facts: exact slices that are indexed by what a model says of their turns."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import ScriptedModel, shown

from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.protocol.model import Request
from memlake.transforms.represent.catalogue import asking, represent, spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
TALK = {
    "v": [
        ("8 May, 2023", [("Ann", "I sold the barge."), ("Bo", "In {2021}?"), ("Ann", "Yes."), ("Bo", "Oh.")]),
        (None, [("Ann", "Bye")]),
    ],
    "w": [("9 May, 2023", [("Cy", "Hm.")])],
}
KEYS = {"I sold the barge.": ["barge", " Sale ", "BARGE", ""], "In {2021}?": ["{2021}", "sale"], "Bye": ["bye"]}


def keyed(request: Request, kind: str = "keyphrases") -> str:
    turns = [{"turn": turn["turn"], kind: KEYS[turn["text"]]} for turn in shown(request)[1] if turn["text"] in KEYS]
    return json.dumps({"turns": turns})


def made(turns: pa.Table, script: Any, spec: str = "keyphrases") -> tuple[Units, ScriptedModel]:
    model, parsed = ScriptedModel(script), spec_of(spec, model="m")
    how = asking(parsed)
    assert how
    return asyncio.run(how.build(parsed, turns, model)), model  # type: ignore[arg-type]


def keys_of(units: Units) -> list[str]:
    return units.units["key_text"].to_pylist()


def test_a_turn_is_shown_as_it_stands_and_indexed_with_its_keys(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    units, model = made(turns, keyed)
    verbatim = represent(spec_of("turns"), turns)
    assert units.units["show_text"].equals(verbatim.units["show_text"])
    for name in ("span_start", "span_end", "header_chars", "session_id", "speaker", "kind", "event_at"):
        assert units.units[name].equals(verbatim.units[name]), name
    for name in ("turn_id", "char_start", "char_end", "grounding", "touches_text"):
        assert units.provenance[name].equals(verbatim.provenance[name]), name
    assert keys_of(units) == [
        "[8 May, 2023] Ann: I sold the barge.\nbarge; Sale",
        "[8 May, 2023] Bo: In {2021}?\n{2021}; sale",
        "[8 May, 2023] Ann: Yes.",
        "[8 May, 2023] Bo: Oh.",
        "Ann: Bye\nbye",
        "[9 May, 2023] Cy: Hm.",
    ]
    assert [json.loads(text)["keys"] for text in units.units["attributes"].to_pylist()] == [
        ["barge", "Sale"], ["{2021}", "sale"], [], [], ["bye"], [],
    ]  # fmt: skip
    assert len(model.requests) == 3
    assert [(row["outcome"], row["units"], row["exact"], row["duplicates"]) for row in units.extractions.to_pylist()] == [
        ("extracted", 4, 4, 1), ("extracted", 1, 1, 0), ("empty", 1, 1, 0),
    ]  # fmt: skip
    assert sum(row["stored_chars"] for row in units.extractions.to_pylist()) == sum(
        len(row["show_text"]) - row["header_chars"] for row in units.units.to_pylist()
    )


def test_keys_alone_keep_the_date_header(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of(TALK), keyed, "keyphrases-k:key=keys")
    assert keys_of(units)[:3] == ["[8 May, 2023] barge; Sale", "[8 May, 2023] {2021}; sale", "[8 May, 2023] Ann: Yes."]


def test_a_value_of_several_turns_has_the_keys_of_all_each_once(turns_of: TurnsOf) -> None:
    turns = turns_of(TALK)
    by_turn, asked = made(turns, keyed)
    by_session, again = made(turns, keyed, "keyphrases-s:value=session,key=keys")
    by_exchange, _ = made(turns, keyed, "keyphrases-e:value=exchange,key=keys")
    assert keys_of(by_session) == ["[8 May, 2023] barge; Sale; {2021}", "bye", "[9 May, 2023] Cy: Hm."]
    assert keys_of(by_exchange) == [
        "[8 May, 2023] barge; Sale; {2021}", "[8 May, 2023] Ann: Yes.\nBo: Oh.", "bye", "[9 May, 2023] Cy: Hm.",
    ]  # fmt: skip
    assert by_session.units["kind"].to_pylist() == ["session"] * 3
    assert [request.hash("p") for request in asked.requests] == [request.hash("p") for request in again.requests]
    assert by_turn.units.num_rows == turns.num_rows


def test_facts_are_sentences_one_after_the_other(turns_of: TurnsOf) -> None:
    units, model = made(turns_of(TALK), lambda request: keyed(request, "facts"), "facts-k:key=keys")
    assert keys_of(units)[0] == "[8 May, 2023] barge Sale"
    assert '"facts"' in model.requests[0].schema


def test_keys_of_turns_that_are_not_there_are_dropped_and_told(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str:
        return json.dumps({"turns": [{"turn": n, "keyphrases": ["x"]} for n in (0, 1, 99, -1)]})

    units, _ = made(turns_of({"w": TALK["w"]}), script)
    assert keys_of(units) == ["[9 May, 2023] Cy: Hm.\nx"]
    assert [row["dropped"] for row in units.extractions.to_pylist()] == [3]
    (letter,) = units.dead
    assert (letter.outcome, letter.scope, letter.reason) == ("dropped", "unit", "invalid_items")
    assert "99" in (letter.payload or "")


def test_a_piece_of_which_no_key_is_left_is_empty(turns_of: TurnsOf) -> None:
    units, _ = made(turns_of({"w": TALK["w"]}), lambda _: '{"turns": [{"turn": 9, "keyphrases": ["x"]}]}')
    (row,) = units.extractions.to_pylist()
    assert (row["outcome"], row["dropped"]) == ("empty", 1)
    assert keys_of(units) == units.units["show_text"].to_pylist()


def test_a_piece_that_fails_leaves_its_values_indexed_by_their_own_text(turns_of: TurnsOf) -> None:
    def script(request: Request) -> str | tuple[str, str]:
        return ("transient", "") if shown(request)[0]["session_date"] == "8 May, 2023" else keyed(request)

    units, _ = made(turns_of(TALK), script)
    assert units.units.num_rows == 6
    assert keys_of(units)[:2] == ["[8 May, 2023] Ann: I sold the barge.", "[8 May, 2023] Bo: In {2021}?"]
    assert list(units.unfinished) == ["v"]
    assert [letter.reason for letter in units.dead] == ["transient"]


def test_a_long_turn_that_was_cut_has_the_keys_of_its_parts(turns_of: TurnsOf) -> None:
    turns = turns_of({"v": [(None, [("Ann", "alpha " * 100 + "omega " * 100)])]})

    def script(request: Request) -> str | tuple[str, str]:
        (turn,) = shown(request)[1]
        words = sorted(set(turn["text"].split()))
        return ("cut", "") if len(words) > 1 else json.dumps({"turns": [{"turn": 1, "keyphrases": words}]})

    units, _ = made(turns, script, "keyphrases-k:key=keys")
    assert keys_of(units) == ["alpha; omega"]
    assert [row["units"] for row in units.extractions.to_pylist()] == [1, 0]


@given(data=st.data())
def test_odd_texts_stay_exact_whatever_the_model_says(data: st.DataObject, odd_talks: Any, turns_of: TurnsOf) -> None:
    turns = turns_of(data.draw(odd_talks))
    keys = data.draw(st.lists(st.text(), max_size=3))
    script = lambda request: json.dumps(  # noqa: E731
        {"turns": [{"turn": turn["turn"], "keyphrases": keys} for turn in shown(request)[1]]}
    )
    for value in ("turn", "exchange", "session"):
        units, _ = made(turns, script, f"keyphrases-{value}x:value={value}")
        shown_text = units.units["show_text"].to_pylist()
        assert all(key.startswith(text) for key, text in zip(keys_of(units), shown_text, strict=True))
        assert [
            row["span_end"] - row["span_start"] == len(row["show_text"]) - row["header_chars"]
            for row in units.units.to_pylist()
        ] == [True] * len(shown_text)


def test_settings_that_there_are_not_are_refused() -> None:
    for spec in ("facts-x:value=page", "facts-x:key=value", "facts-x:second_pass=true", "keyphrases-x:prompt=no"):
        with pytest.raises(UsageError):
            spec_of(spec, model="m")
