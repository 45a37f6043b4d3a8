import json

import pytest

from transforms.errors import UsageError
from transforms.read.conversation import DeadLetter, Source
from transforms.read.formats import FORMATS, detect, plan_sources, read_source, reader_of

TURN = {"conversation_id": "c", "text": "hi"}
TALK = {"conversation_id": "c", "turns": [{"text": "hi"}]}
CHAT = {"messages": [{"role": "user", "content": "hi"}]}
LOCOMO = [{"qa": [{"question": "q", "answer": "a", "evidence": [], "category": 1}], "conversation": {"speaker_a": "A"}}]
OLDER = {"speaker_a": "A", "speaker_b": "B", "session_1": []}
LONGMEM = [{"question_id": "q", "question_type": "t", "haystack_sessions": []}]
HEADS = {
    "memlake-turns": TURN,
    "memlake-conversations": TALK,
    "openai-chat": CHAT,
    "locomo": LOCOMO,
    "longmemeval": LONGMEM,
}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n\n"])
def test_each_format_is_known_by_its_structure(name, start, ending):
    assert detect(start + json.dumps(HEADS[name]).encode() + ending) is FORMATS[name]


def test_the_older_layout_and_indented_lists_are_known():
    assert detect(json.dumps(OLDER).encode()) is FORMATS["locomo"]
    assert detect(json.dumps(LONGMEM, indent=2).encode()) is FORMATS["longmemeval"]


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_breaks_off_is_enough(name):
    long = json.loads(json.dumps(HEADS[name]).replace('"hi"', json.dumps("x" * 500)))
    raw = json.dumps(long).encode()
    if name in ("locomo", "longmemeval"):
        raw = raw[:-1] + b", {" + b'"pad": "' + b"y" * 500
    assert detect(raw[:300] if len(raw) > 300 else raw) is FORMATS[name]


def test_a_broken_first_line_does_not_hide_the_format():
    assert detect(b'{"conversation_id": "c", "te\n' + json.dumps(TURN).encode()) is FORMATS["memlake-turns"]
    assert detect(b"\xff\xfe\n" + json.dumps(TURN).encode()) is FORMATS["memlake-turns"]


def test_two_formats_that_match_are_refused_by_name():
    both = json.dumps(TURN).encode() + b"\n" + json.dumps(TALK).encode()
    with pytest.raises(UsageError, match="memlake-turns and memlake-conversations"):
        detect(both)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"", "empty_file"),
        (b" \n", "empty_file"),
        (b"hello", "unknown_format"),
        (b'{"a": 1}\n', "unknown_format"),
        (b"[1, 2]", "unknown_format"),
        (json.dumps([TURN, TURN], indent=1).encode(), "unknown_format"),
        (json.dumps(TALK, indent=1).encode(), "unknown_format"),
        ("é".encode("utf-16"), "wrong_encoding"),
        ("日本".encode()[:-1], "unknown_format"),
        (b"\x00" * 100, "unknown_format"),
        (b"[" * 70_000, "unknown_format"),
    ],
)
def test_other_content_is_a_dead_letter_for_the_whole_file(head, reason):
    found = detect(head, "file")
    assert isinstance(found, DeadLetter)
    assert (found.reason, found.scope, found.source_uri) == (reason, "file", "file")


def test_names_of_formats_are_checked(write):
    with pytest.raises(UsageError, match="allowed are auto, locomo"):
        list(read_source(Source(write([TURN])), "csv"))


def test_a_file_that_cannot_be_opened_is_a_dead_letter(tmp_path):
    found = reader_of(str(tmp_path / "absent"))
    assert isinstance(found, DeadLetter)
    assert found.reason == "unreadable"


def test_files_are_planned_by_format_and_unknown_ones_are_reported_once(write):
    files = [(write([TURN] * 20, "turns"), 560), (write(OLDER, "talk"), 10), (write(b"?", "odd"), 1)]
    shards, letters = plan_sources(files, shard_bytes=200)
    assert {name: len(of_name) for name, of_name in shards.items()} == {"memlake-turns": 3, "locomo": 1}
    assert [letter.reason for letter in letters] == ["unknown_format"]
