"""What the first bytes of a file tell, wherever they break off."""

import json

import pytest

from memlake.transforms.read.common.reader import first_item, lines_of, whole_of

ITEMS = [
    {"id": "a", "turns": [{"speaker": "Ana", "text": 'x\ud83d{[,\\"'}, {"n": 12, "ok": True, "none": None}]},
    {"id": "b"},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_wherever_a_list_is_cut_what_is_before_the_cut_is_there(indent):
    text = json.dumps(ITEMS, indent=indent).encode()
    opened = text.index(b'"id"')
    for cut in range(opened + len(b'"id": "'), len(text)):
        assert first_item(text[:cut]).get("id") in ("", "a"), cut
    assert [len(first_item(text[:cut])) for cut in (opened, len(text))] == [0, 2]
    assert whole_of(text)[1] == {"id": "b"}


def test_a_cut_value_counts_by_what_is_there_of_it_and_a_cut_key_not_at_all():
    assert whole_of(b'{"a": "long te') == {"a": "long te"}
    assert whole_of(b'{"a": [{"b": 1, "c') == {"a": [{"b": 1}]}
    assert whole_of(b'{"a": {"b": tr') == {"a": {}}


def test_of_lines_those_count_that_are_whole_and_a_single_one_that_is_cut():
    assert lines_of(b'{"a": 1}\nnot json\n[1]\n{"b": 2}\n{"c": "cu') == [{"a": 1}, {"b": 2}]
    assert lines_of(b'\xef\xbb\xbf{"a": "\\ud83d", "b": [{"c": "cu') == [{"a": "\ufffd", "b": [{"c": "cu"}]}]
    assert lines_of(b'[{"a": 1}]\n{"b": 2}') == []
    assert lines_of(b'{\n"a": 1}') == []


@pytest.mark.parametrize("head", [b"", b"text", b'{"a" 1', b"\xff\xfe{", b"[" * 5000, b'{"a": "\x01"', b"9" * 5000])
def test_what_is_no_json_is_nothing(head):
    assert (first_item(head), lines_of(head)) == ({}, [])
