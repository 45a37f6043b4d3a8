import json

import pytest

from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.read.common import json_items
from memlake.transforms.read.common.json_items import read_items


def split(uri: str) -> tuple[list[object], list[DeadLetter]]:
    found = list(read_items(uri))
    return [i.value for i in found if not isinstance(i, DeadLetter)], [i for i in found if isinstance(i, DeadLetter)]


@pytest.mark.parametrize("step", [1, 2, 7, 4096])
@pytest.mark.parametrize("value", [[], [{"a": "é\u2028"}, {"b": [1, 2]}, 12], {"a": 1}, [[]], 7])
def test_a_list_is_read_item_by_item_whatever_the_pieces(write, monkeypatch, step, value):
    monkeypatch.setattr(json_items, "_STEP", step)
    raw = b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False, indent=1).encode()
    items, letters = split(write(raw))
    assert items == (value if isinstance(value, list) else [value])
    assert letters == []


@pytest.mark.parametrize("step", [1, 3, 4096])
def test_items_before_a_broken_place_land_and_the_line_is_named(write, monkeypatch, step):
    monkeypatch.setattr(json_items, "_STEP", step)
    items, letters = split(write(b'[{"a": 1},\n{"b": 2},\n{"c": '))
    assert items == [{"a": 1}, {"b": 2}]
    assert [(letter.reason, letter.position, letter.scope) for letter in letters] == [("truncated_json", 3, "file")]


@pytest.mark.parametrize("step", [1, 3, 4096])
def test_items_before_bytes_that_are_not_utf8_land(write, monkeypatch, step):
    monkeypatch.setattr(json_items, "_STEP", step)
    items, letters = split(write(b'[{"a": 1},\n{"b": "\xff"}]'))
    assert items == [{"a": 1}]
    assert [(letter.reason, letter.position) for letter in letters] == [("wrong_encoding", 2)]


@pytest.mark.parametrize("raw", [b'[{"a": 1}] x', b'{"a": 1} {', b"[1 2]", b"[1,]", b"[" * 100_000])
def test_what_is_not_one_json_value_is_reported_once(write, raw):
    assert [letter.reason for letter in split(write(raw))[1]] == ["truncated_json"]


def test_a_file_that_cannot_be_read_is_one_dead_letter(tmp_path):
    assert [letter.reason for letter in split(str(tmp_path / "absent"))[1]] == ["unreadable"]


def test_half_an_emoji_deep_inside_is_mended_or_reported_and_never_raised(write):
    (value,), letters = split(write(b'[{"a": ["\\ud83d"]}]'))
    assert value == {"a": ["\ufffd"]}
    assert [(letter.reason, letter.position) for letter in letters] == [("lone_surrogate", 0)]
    deep = b"[" * 700 + b'"\\ud83d"' + b"]" * 700
    assert {letter.reason for letter in split(write(deep))[1]} <= {"truncated_json", "lone_surrogate"}
