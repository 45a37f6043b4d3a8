import random

import pyarrow as pa
import pytest

from memlake.transforms.base.conversation import Conversation, DeadLetter
from memlake.transforms.read.gather import PARTIAL, bucket_of, gather, partial_rows


def table(read, *paths: str) -> pa.Table:
    return pa.concat_tables(partial_rows(read(path)[0]) for path in paths)


def gathered(rows: pa.Table) -> tuple[list[Conversation], list[DeadLetter]]:
    items = list(gather(rows))
    return [i for i in items if isinstance(i, Conversation)], [i for i in items if isinstance(i, DeadLetter)]


def turn(text: str, **fields: object) -> dict[str, object]:
    return {"conversation_id": "c", "text": text, **fields}


def test_partial_rows_keep_what_the_source_says_and_no_more(read, write):
    rows = table(
        read, write([turn("a", turn_id="t", said_at=1_700_000_000), turn("b"), {**turn("x"), "conversation_id": "d"}])
    )
    assert rows.schema.equals(PARTIAL)
    by_text = {row["text"]: row for row in rows.to_pylist()}
    assert (by_text["a"]["turn_id"], by_text["b"]["turn_id"], by_text["b"]["session_id"]) == ("t", None, None)
    assert by_text["a"]["position"] < by_text["b"]["position"]
    assert by_text["a"]["zone_known"]
    assert partial_rows([]).schema.equals(PARTIAL)


@pytest.mark.parametrize("seed", range(5))
def test_the_result_does_not_depend_on_the_order_of_rows_or_files(read, write, seed):
    rng = random.Random(seed)
    day = [turn(f"d{n}", said_at=f"2024-01-01T00:{n % 7:02}", session_id=f"s{n % 3}") for n in range(30)]
    plain = [{**turn(f"p{n}"), "conversation_id": f"p{n % 2}"} for n in range(10)]
    rng.shuffle(day)
    paths = [write([*day[:11], *plain[:5]], "1"), write([*day[11:], *plain[5:]], "2"), write(day[:4], "3")]
    rows = table(read, *paths)
    expected = gathered(rows)
    order = list(range(rows.num_rows))
    rng.shuffle(order)
    assert gathered(rows.take(order)) == expected
    assert gathered(table(read, *reversed(paths))) == expected
    talk = next(made for made in expected[0] if made.conversation_id == "c")
    assert len(talk.text) == 30
    assert talk.session == sorted(talk.session)
    assert [made.text for made in expected[0][1:]] == [[f"p{n}" for n in range(10) if n % 2 == k] for k in (0, 1)]


def test_equal_times_keep_the_order_of_the_source(read, write):
    rows = table(read, write([turn(text, said_at="2024-01-01") for text in ("9", "10", "1")]))
    assert gathered(rows)[0][0].text == ["9", "10", "1"]


def test_an_export_that_was_repeated_or_grown_lands_once(read, write):
    lines = [turn(text) for text in ("ok", "ok", "fine")]
    grown = write([*lines, turn("more")], "b")
    (talk,), letters = gathered(
        table(read, write(lines, "a"), grown, write(lines, "c"), write([*lines, turn("more")], "d"))
    )
    assert talk.text == ["ok", "ok", "fine", "more"]
    assert talk.source_uri == grown
    assert [letter.reason for letter in letters] == ["repeated_export"] * 3


def test_overlapping_exports_share_turns_that_have_an_id_or_a_time(read, write):
    lines = [turn(str(n % 2), said_at=f"2024-01-0{1 + n // 2}") for n in range(8)]
    twice = [turn("same", said_at="2024-01-09")] * 2
    (talk,), letters = gathered(table(read, write([*lines[:6], *twice], "a"), write([*lines[2:], *twice], "b")))
    assert talk.text == ["0", "1"] * 4 + ["same", "same"]
    assert [(letter.reason, letter.outcome) for letter in letters] == [("repeated_turns", "skipped")]


def test_an_edited_turn_keeps_both_versions_under_two_ids(read, write):
    (talk,), letters = gathered(table(read, write([turn("a", turn_id="t")], "a"), write([turn("b", turn_id="t")], "b")))
    assert (talk.turn_id, talk.text) == (["t", "t~2"], ["a", "b"])
    assert [letter.reason for letter in letters] == ["repeated_turn_id"]


def test_both_layouts_give_the_same_conversation(read, write):
    turns = [
        {"text": "a", "session_id": "x", "session_at": "2024-01-01", "turn_id": "1", "speaker": "Ana"},
        {"text": "b", "role": "user"},
        {"text": "c", "session_id": "x", "session_at": "2024-01-01"},
        {"text": "d", "session_at": "2024-02-01", "said_at": "2024-02-01T10:00Z"},
    ]
    (nested,), _ = read(write([{"conversation_id": "c", "turns": turns}], "one"))
    (flat,), _ = gathered(table(read, write([{"conversation_id": "c", **each} for each in turns], "many")))
    for column in ("sessions", "session", "turn_id", "speaker", "role", "kind", "text", "source_chars", "said_at"):
        assert getattr(nested, column) == getattr(flat, column)


def test_buckets_are_stable_and_hold_whole_conversations():
    names = pa.chunked_array([["a", "b", "a"], ["ü", "b"]])
    buckets = bucket_of(names, 16).to_pylist()
    assert buckets[0] == buckets[2]
    assert buckets[1] == buckets[4]
    assert buckets == bucket_of(names.combine_chunks(), 16).to_pylist()
    assert all(0 <= bucket < 16 for bucket in buckets)
    # The value is part of what staged files mean, so it may not change.
    assert bucket_of(pa.array(["a"]), 1000).to_pylist() == [343]
