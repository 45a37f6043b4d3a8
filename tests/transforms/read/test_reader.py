"""Marks: what the first bytes of a file must hold to be of a format."""

import json

import pytest

from memlake.transforms.base.conversation import Conversation, DeadLetter
from memlake.transforms.read import catalogue
from memlake.transforms.read.common.json_lines import each_line
from memlake.transforms.read.common.reader import Exactly, Reader, Within, bears, header_of


@pytest.mark.parametrize(
    ("mark", "value", "is_borne"),
    [
        (..., None, True),
        ([], [], True),
        ([], {}, False),
        ([{"role": ...}], ["x", {"role": None}], True),
        ([{"role": ...}], [], False),
        ({"a": ..., "b|c": []}, {"a": 0, "c": [1]}, True),
        ({"a": ..., "b|c": []}, {"a": 0, "c": 1}, False),
        ({"session_[0-9]+": []}, {"session_1_date_time": [], "session_1": "x"}, False),
        ({"session_[0-9]+": []}, {"session_1": "x", "session_2": []}, True),
        ({"a": ..., "b": None}, {"a": 1}, True),
        ({"a": ..., "b": None}, {"a": 1, "b": 2}, False),
        ({"a": ...}, [{"a": 1}], False),
        (Exactly({"[0-9a-f]{4}": []}), {"00ff": []}, True),
        (Exactly({"[0-9a-f]{4}": []}), {"00ff": [], "x": 1}, False),
        (Within({"a": ...}), {"x": [{"y": {"a": 1}}]}, True),
        (Within({"a": ...}), {"x": 1, "y": {"a": 1}}, False),
        (Within({"a": ...}), {}, False),
    ],
)
def test_a_mark_is_the_json_that_it_is_found_in(mark, value, is_borne):
    assert bears(value, mark) is is_borne


def test_marks_are_looked_for_where_a_reader_says():
    def reader(**marks):
        return Reader("toy", 1, "file", lambda *_: iter(()), **marks)

    mark = ({"a": ...},)
    heads = {
        "items": b'[{"a": 1}, {"b": 2}]',
        "wholes": b'{\n"a": 1}',
        "lines": b'{"b": 2}\n{"a": 1}\n',
        "headers": b"a,b\n1,2\n",
    }
    for where in heads:
        known = [of for of, head in heads.items() if reader(**{where: mark}).knows(head)]
        assert known == [where], where


def test_a_cut_file_bears_the_marks_that_stand_before_the_cut():
    whole = json.dumps([{"id": "x", "said": [{"text": "long " * 50}]}]).encode()
    reader = Reader("toy", 1, "file", lambda *_: iter(()), items=({"id": ..., "said": [{"text": ...}]},))
    assert reader.knows(whole[:90])
    assert not reader.knows(whole[:10])


def test_a_header_is_the_names_of_a_csv():
    assert list(header_of(b'\xef\xbb\xbfa,"b,c"\r\n1,2\r\n')) == ["a", "b,c"]
    assert header_of(b"") == {}


def test_a_format_is_a_reader_and_its_line_in_the_catalogue(monkeypatch, read, write):
    def greeting(record, uri):
        yield DeadLetter("toy_reason", "said for the test", uri, None, "conversation", "kept")
        yield Conversation(record["hello"], uri, "toy", text=["hi"])

    toy = Reader("toy", 1, "conversation_lines", each_line(greeting), lines=({"hello": ...},))
    monkeypatch.setattr(catalogue, "_READERS", (*catalogue._READERS, toy))
    monkeypatch.setitem(catalogue.FORMATS, "toy", toy)
    made, letters = read(write([{"hello": "a"}, {"hello": "b"}]))
    assert [(conversation.conversation_id, conversation.format) for conversation in made] == [
        ("a", "toy"),
        ("b", "toy"),
    ]
    assert [(letter.reason, letter.position) for letter in letters] == [("toy_reason", 1), ("toy_reason", 2)]
