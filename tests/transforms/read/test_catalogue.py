import bz2
import gzip
import json
import lzma

import pytest

from memlake.transforms.base.conversation import DeadLetter, Source
from memlake.transforms.base.errors import UsageError
from memlake.transforms.read.catalogue import FORMATS, detect, plan_sources, read_source, reader_of

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


LINES = {name: head for name, head in HEADS.items() if isinstance(head, dict)}
PAIRS = [(name, other) for name in LINES for other in LINES if name != other]


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_a_file_of_two_formats_is_a_dead_letter_that_names_both_and_what_to_do(name, other, write):
    both = write([LINES[name], LINES[other]], "both")
    good = write([LINES[name]], "good")
    shards, [letter] = plan_sources([(both, 10), (good, 10)])
    assert list(shards) == [name]
    assert (letter.reason, letter.scope, letter.outcome, letter.source_uri) == (
        "ambiguous_format", "file", "dropped", both,
    )  # fmt: skip
    assert all(says in letter.error for says in (name, other, "split it", "--format "))


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_a_line_of_another_format_is_content_lost_whoever_reads_it(name, other, read, write):
    made, letters = read(write([LINES[name], LINES[other]]), name)
    assert [conversation.text for conversation in made] == [["hi"]]
    assert [(letter.reason, letter.outcome, letter.position) for letter in letters] == [
        ("malformed_record", "dropped", 2)
    ]


@pytest.mark.parametrize(
    ("reader", "line"),
    [
        ("memlake-turns", {"conversation_id": "c", "content": "hi"}),
        ("memlake-turns", {"conversation_id": "c", "text": None, "turns": [{"text": "hi"}]}),
        ("memlake-turns", {"conversation_id": "c", "messages": [{"role": "user", "content": "hi"}]}),
        ("memlake-conversations", {"conversation_id": "c", "turns": [{"role": "user", "content": "hi"}]}),
        ("memlake-conversations", {"conversation_id": "c", "turns": [{"turns": [{"text": "hi"}]}]}),
        ("openai-chat", {"messages": [{"role": "user", "text": "hi"}]}),
        ("openai-chat", {"messages": [{"role": "user", "content": None, "messages": [{"content": "hi"}]}]}),
    ],
)
def test_a_record_that_says_something_elsewhere_is_never_skipped_as_one_without_text(reader, line, read, write):
    _, letters = read(write([line]), reader)
    assert (letters[0].reason, letters[0].outcome) == ("malformed_record", "dropped")


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (gzip.compress(b"text", mtime=0), "a gzip file: unpack it first"),
        (b"PK\x03\x04\x14\x00", "a zip file: unpack it first"),
        (bz2.compress(b"text"), "a bzip2 file: unpack it first"),
        (lzma.compress(b"text"), "an xz file: unpack it first"),
        (b"\x28\xb5\x2f\xfd\x00\xff", "a zstd file: unpack it first"),
        (b"PAR1\x15\x00", "a Parquet file"),
        (json.dumps([TURN, TURN]).encode(), "one JSON list: one object a line is expected"),
        (json.dumps([CHAT], indent=1).encode(), "one JSON list: one object a line is expected"),
        (json.dumps(TALK, indent=1).encode(), "one object a line is expected"),
        (json.dumps(CHAT, indent=4).encode(), "one object a line is expected"),
        (b'{"conversation_id": "c"}\n{"conversation_id": "d"}\n', "its structure is none of"),
        (b'[{"a": 1}]', "its structure is none of"),
    ],
)
def test_a_file_of_another_kind_is_told_what_it_is_and_what_to_do(head, says):
    found = detect(head, "file")
    assert isinstance(found, DeadLetter)
    assert found.reason == "unknown_format"
    assert says in found.error


@pytest.mark.parametrize("name", ["auto", *FORMATS])
def test_a_packed_file_is_one_dead_letter_by_any_name_of_a_format(name, write):
    shards, [letter] = plan_sources([(write(gzip.compress(b"text" * 999)), 99)], name)
    assert (shards, letter.reason, letter.scope) == ({}, "unknown_format", "file")


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
