"""Units that a source brings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memlake.schemas.provenance import PROVENANCE
from memlake.schemas.units import UNITS
from memlake.transforms.base.conversation import Conversation, ReadOptions, Source, SuppliedUnit
from memlake.transforms.base.errors import UsageError
from memlake.transforms.lake.storage.parts import derived_part_hash
from memlake.transforms.read.formats.locomo.conversations import READER
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.supplied import supplied_parts, supplied_spec, supplied_units

TALK = {
    "conv-1": [("8 May, 2023", [("Ann", "I like figs"), ("Bob", "So do I")]), (None, [("Ann", "Bye")])],
    "conv-2": [(None, [("Cy", "Hm")])],
    "conv-3": [(None, [("Di", "Well")])],
}
Make = Callable[..., list[Conversation]]


@pytest.fixture
def supplied(conversations_of: Make) -> list[Conversation]:
    first, second, third = conversations_of(TALK)
    first.supplied = [
        SuppliedUnit("observations", "observation", "Both like figs", 0, ["D0:0", "D0:1"], "Ann", {"b": [1], "a": "é"}),
        SuppliedUnit("session_summaries", "summary", "They part", 1, ["D1:2"]),
        SuppliedUnit("observations", "observation", "Ann left", None, ["D1:2", "D9:9"]),
    ]
    second.supplied = [SuppliedUnit("observations", "observation", "Cy hums", 0, [])]
    return [first, second, third]


def test_supplied_units_are_grouped_by_representation_with_headers(supplied: list[Conversation]) -> None:
    made = supplied_units("c", supplied, tabulate("c", supplied, 1)["turns"])
    assert list(made) == ["observations", "session_summaries"]
    rows = made["observations"].units.to_pylist()
    assert [row["show_text"] for row in rows] == ["[8 May, 2023] Both like figs", "Ann left", "Cy hums"]
    assert [row["header_chars"] for row in rows] == [14, 0, 0]
    assert [row["ordinal"] for row in rows] == [0, 1, 0]
    assert [row["session_id"] for row in rows] == ["s0", None, "s0"]
    assert [row["speaker"] for row in rows] == ["Ann", None, None]
    assert [row["kind"] for row in rows] == ["observation"] * 3
    assert all(row["span_start"] is None and row["key_text"] == row["show_text"] for row in rows)
    assert len({row["unit_id"] for row in rows}) == 3
    for units in made.values():
        assert (units.units.schema, units.provenance.schema) == (UNITS.schema, PROVENANCE.schema)


def test_named_turns_are_provenance_without_characters(supplied: list[Conversation]) -> None:
    made = supplied_units("c", supplied, tabulate("c", supplied, 1)["turns"])["observations"]
    ids = made.units["unit_id"].to_pylist()
    rows = [
        (ids.index(row["unit_id"]), row["piece"], row["turn_id"], row["ordinal"]) for row in made.provenance.to_pylist()
    ]
    assert rows == [(0, 0, "D0:0", 0), (0, 1, "D0:1", 1), (1, 0, "D1:2", 2)]
    for row in made.provenance.to_pylist():
        assert (row["char_start"], row["char_end"], row["grounding"], row["touches_text"]) == (None, None, "none", True)


def test_attributes_and_turns_that_do_not_exist_are_kept_as_json(supplied: list[Conversation]) -> None:
    made = supplied_units("c", supplied, tabulate("c", supplied, 1)["turns"])["observations"]
    texts = made.units["attributes"].to_pylist()
    assert texts[0] == '{"a": "é", "b": [1]}'
    assert json.loads(texts[1]) == {"unresolved_turn_ids": ["D9:9"]}
    assert texts[2] is None


@pytest.mark.parametrize("name", ["chunks", "chunks-o0", "turns", "../x", "a__b", ""])
def test_a_name_that_is_unsafe_or_taken_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        supplied_spec(name)


def test_no_supplied_units_give_nothing(conversations_of: Make) -> None:
    conversations = conversations_of(TALK)
    assert supplied_units("c", conversations, tabulate("c", conversations, 1)["turns"]) == {}


def test_a_part_changes_when_anything_in_its_units_does(supplied: list[Conversation]) -> None:
    turns = tabulate("c", supplied, 1)["turns"]
    spec = supplied_spec("observations")

    def parts() -> list[tuple[str, str, str, int]]:
        rows = supplied_parts(spec, supplied_units("c", supplied, turns)["observations"]).to_pylist()
        return [(row["conversation_id"], row["part"], row["content_hash"], row["rows"]) for row in rows]

    before = parts()
    assert [(name, part, rows) for name, part, _, rows in before] == [
        ("conv-1", "units:observations", 2),
        ("conv-2", "units:observations", 1),
    ]
    assert parts() == before
    first, second, last = supplied[0].supplied[0], supplied[0].supplied[1], supplied[0].supplied[2]
    for change in (
        SuppliedUnit(first.representation, "fact", first.text, 0, first.turn_ids, "Ann", first.attributes),
        SuppliedUnit(first.representation, first.kind, first.text, 0, ["D0:0"], "Ann", first.attributes),
        SuppliedUnit(first.representation, first.kind, first.text, 0, first.turn_ids, "Bob", first.attributes),
        SuppliedUnit(first.representation, first.kind, first.text, 0, first.turn_ids, "Ann", {}),
        SuppliedUnit(first.representation, first.kind, "Figs", 0, first.turn_ids, "Ann", first.attributes),
    ):
        supplied[0].supplied = [change, second, last]
        after = parts()
        assert after[0][2] != before[0][2]
        assert after[1] == before[1]


def test_units_made_from_turns_are_known_by_turns_and_settings() -> None:
    hashes = {derived_part_hash(turns, settings) for turns in ("a", "b") for settings in ("c", "d")}
    assert len(hashes) == 4
    assert derived_part_hash("a", "c") in hashes


def test_locomo_brings_its_observations_with_their_turns(shared_data: Path) -> None:
    read = READER.read(Source(str(shared_data / "locomo" / "locomo10.json")), ReadOptions())
    conversations = [conversation for conversation in read if isinstance(conversation, Conversation)]
    made = supplied_units("locomo", conversations, tabulate("locomo", conversations, 1)["turns"])
    assert made["observations"].units.num_rows == 2_541
    assert made["session_summaries"].units.num_rows == 272
    cited = {(row["conversation_id"], row["turn_id"]) for row in made["observations"].provenance.to_pylist()}
    assert len(cited) == 2_387
