"""propositions: near-verbatim statements, grounded as artifacts are."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from scripted_model import ScriptedModel, shown

from memlake.transforms.base.errors import UsageError
from memlake.transforms.represent.by_model.propositions import PROPOSITIONS
from memlake.transforms.represent.catalogue import spec_of
from memlake.transforms.represent.common.representation import Units

TurnsOf = Callable[..., pa.Table]
TALK = {"v": [("8 May, 2023", [("Ann", "I sold the barge, but not the {oars}."), ("Bo", "In 2021?")])]}


def made(turns: pa.Table, items: list[dict[str, Any]], spec: str = "propositions") -> tuple[Units, ScriptedModel]:
    model = ScriptedModel(lambda _: json.dumps({"propositions": items}, ensure_ascii=False))
    return asyncio.run(PROPOSITIONS.asking.build(spec_of(spec, model="m"), turns, model)), model


def proposition(**changes: Any) -> dict[str, Any]:
    return {
        "content": "On 8 May 2023, Ann said that she sold the barge.",
        "quote": "I sold the barge",
        "speaker": "ann",
        "time_expression": None,
        "resolved_time": "2021",
        "turns": [1],
    } | changes


def test_each_proposition_is_a_unit_with_the_place_of_its_quote(turns_of: TurnsOf) -> None:
    units, model = made(
        turns_of(TALK), [proposition(), proposition(content="The oars stayed.", quote="not the {oars}")]
    )
    first, second = units.units.to_pylist()
    assert first["show_text"] == "[8 May, 2023] On 8 May 2023, Ann said that she sold the barge."
    assert (first["kind"], first["speaker"], first["event_at"].year) == ("proposition", "Ann", 2021)
    assert (second["ordinal"], second["key_text"]) == (1, second["show_text"])
    assert [(piece["char_start"], piece["char_end"], piece["grounding"]) for piece in units.provenance.to_pylist()] == [
        (5, 21, "exact"),
        (27, 41, "exact"),
    ]
    attributes = json.loads(first["attributes"])
    assert attributes["grounded"] is True
    assert not {"type", "confidence"} & attributes.keys()
    assert "propositions" in model.requests[0].schema
    assert shown(model.requests[0])[1][0]["text"] == "I sold the barge, but not the {oars}."


def test_one_without_a_quote_that_is_there_is_flagged_or_dropped_without_another_call(turns_of: TurnsOf) -> None:
    items = [proposition(), proposition(content="They live on Mars.", quote="we live on Mars now")]
    kept, asked = made(turns_of(TALK), items)
    assert [json.loads(unit["attributes"])["grounded"] for unit in kept.units.to_pylist()] == [True, False]
    dropped, again = made(turns_of(TALK), items, "propositions-g:ungrounded=drop")
    assert dropped.units.num_rows == 1
    assert [request.hash("p") for request in asked.requests] == [request.hash("p") for request in again.requests]


def test_settings_that_there_are_not_are_refused() -> None:
    for spec in (
        "propositions-x:show=all",
        "propositions-x:granularity=page",
        "propositions-x:prompt=none",
        "propositions-x:ungrounded=maybe",
    ):
        with pytest.raises(UsageError):
            spec_of(spec, model="m")
