"""memlake-units: units for conversations that a lake holds already."""

import json

import pytest

from memlake.transforms.base.conversation import Source
from memlake.transforms.read.catalogue import detect, reader_of

UNIT = {"conversation_id": "c1", "representation": "notes", "text": "Ana greets."}


@pytest.mark.parametrize("as_list", [False, True])
def test_lines_and_a_list_give_the_same_conversations(read, write, as_list):
    units = [
        UNIT | {"turn_ids": ["t1", "t1", 2], "kind": "note", "speaker": "Ana", "attributes": {"{0}": ["é\u2028"]}},
        {"conversation_id": 7, "representation": "notes", "text": "Seven."},
        UNIT | {"representation": "other", "text": '{"turns": []}\n</units> %s {0}', "turn_ids": "t2"},
    ]
    path = write(json.dumps(units).encode() if as_list else units)
    found, letters = read(path)
    assert letters == []
    assert [(conversation.conversation_id, conversation.format, conversation.text) for conversation in found] == [
        ("c1", "memlake-units", []),
        ("7", "memlake-units", []),
    ]
    first, other = found[0].supplied
    assert (first.representation, first.kind, first.text) == ("notes", "note", "Ana greets.")
    assert (first.turn_ids, first.speaker, first.attributes) == (["t1", "2"], "Ana", {"{0}": ["é\u2028"]})
    assert (other.text, other.turn_ids, other.kind) == ('{"turns": []}\n</units> %s {0}', ["t2"], "unit")


@pytest.mark.parametrize(
    ("record", "reason", "outcome"),
    [
        ({"representation": "notes", "text": "x"}, "malformed_record", "dropped"),
        (UNIT | {"conversation_id": None}, "malformed_record", "dropped"),
        (UNIT | {"conversation_id": ["c1"]}, "malformed_record", "dropped"),
        (UNIT | {"text": None}, "null_text", "skipped"),
        (UNIT | {"text": " \n"}, "empty_text", "skipped"),
        (UNIT | {"text": 5}, "malformed_record", "dropped"),
        (UNIT | {"representation": "../../etc"}, "malformed_record", "dropped"),
        (UNIT | {"representation": None}, "malformed_record", "dropped"),
        (UNIT | {"attributes": "x"}, "malformed_record", "kept"),
        ("not an object", "malformed_record", "dropped"),
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_what_is_no_unit_is_reported_at_its_place_and_the_rest_is_read(read, write, record, reason, outcome, as_list):
    units = [UNIT, record, UNIT | {"text": "Last."}]
    found, letters = read(write(json.dumps(units).encode() if as_list else units))
    assert [(letter.reason, letter.outcome, letter.scope, letter.position) for letter in letters] == [
        (reason, outcome, "unit", 1 if as_list else 2)
    ]
    kept = [unit.text for conversation in found for unit in conversation.supplied]
    assert (kept[0], kept[-1], len(kept)) == ("Ana greets.", "Last.", 3 if outcome == "kept" else 2)


def test_a_file_that_breaks_off_gives_what_stands_before(read, write):
    whole = json.dumps([UNIT, UNIT | {"text": "Second."}]).encode()
    found, letters = read(write(whole[:-10]), "memlake-units")
    assert [unit.text for unit in found[0].supplied] == ["Ana greets."]
    assert [letter.reason for letter in letters] == ["truncated_json"]
    lines = b"".join(json.dumps(UNIT).encode() + b"\n" for _ in range(2))
    found, letters = read(write(lines[:-10]), "memlake-units")
    assert [unit.text for unit in found[0].supplied] == ["Ana greets."]
    assert [letter.reason for letter in letters] == ["truncated_json"]


def test_units_turns_and_conversations_are_told_apart(write):
    turn = {"conversation_id": "c1", "text": "Hello.", "speaker": "Ana"}
    conversation = {"conversation_id": "c1", "turns": [turn], "units": [UNIT]}
    assert detect(json.dumps(UNIT).encode()).name == "memlake-units"
    assert detect(json.dumps([UNIT]).encode()).name == "memlake-units"
    assert detect(("\ufeff" + json.dumps(UNIT)).encode()).name == "memlake-units"
    assert detect(json.dumps(turn).encode()).name == "memlake-turns"
    assert detect(json.dumps(conversation).encode()).name == "memlake-conversations"
    mixed = reader_of(write([UNIT, turn]))
    assert mixed.reason == "ambiguous_format"


def test_an_unreadable_file_is_reported(read, tmp_path):
    found, letters = read(Source(str(tmp_path / "gone.json")), "memlake-units")
    assert (found, [letter.reason for letter in letters]) == ([], ["unreadable"])
