"""Bad input: one clear line or a dead letter that names file, position and reason; everything else lands."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Memlake = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = '{"conversation_id": "good", "turns": [{"text": "All is well.", "speaker": "Ana"}]}\n'


def ingest(memlake: Memlake, *sources: Path, more: tuple[str, ...] = ()) -> tuple[int, dict[str, object]]:
    done = memlake("ingest", *map(str, sources), "--corpus", "c", "--json", *more)
    return done.returncode, json.loads(done.stdout)


def stored(memlake: Memlake) -> list[str]:
    rows = json.loads(memlake("sql", "select distinct conversation_id as id from turns order by 1", "--json").stdout)
    return [row["id"] for row in rows]


def letters(memlake: Memlake) -> list[dict[str, object]]:
    query = "select reason, scope, outcome, position, source_uri, error from dead_letters order by position"
    return json.loads(memlake("sql", query, "--json").stdout)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "latin.jsonl",
            '{"conversation_id": "a", "turns": [{"text": "caf\xe9"}]}\n'.encode("latin-1"),
            "wrong_encoding",
        ),
        ("cut.jsonl", b'{"conversation_id": "a", "turns": [{"text": "abc', "truncated_json"),
    ],
)
def test_a_broken_file_dies_alone(memlake: Memlake, tmp_path: Path, name: str, content: bytes, reason: str):
    (tmp_path / "good.jsonl").write_text(GOOD)
    (tmp_path / name).write_bytes(content)
    code, made = ingest(memlake, tmp_path / "good.jsonl", tmp_path / name, more=("--format", "memlake-conversations"))
    assert code == 3
    assert made["dead_letters"] == {reason: 1}
    assert made["error"]["code"] == "dead_letters"
    assert made["snapshot_id"]
    assert stored(memlake) == ["good"]
    letter = letters(memlake)[0]
    assert letter["reason"] == reason
    assert str(letter["source_uri"]).endswith(name)
    assert letter["error"]


def test_dead_letters_within_what_is_allowed_end_with_0(memlake: Memlake, tmp_path: Path):
    (tmp_path / "cut.jsonl").write_text(GOOD + '{"conversation_id": "a", "turns": [')
    code, made = ingest(memlake, tmp_path / "cut.jsonl", more=("--allow-dead", "1", "--allow-dead-records", "1"))
    assert code == 0
    assert made["dead_letters"] == {"truncated_json": 1}
    assert stored(memlake) == ["good"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("null", "null_text"),
        ('""', "empty_text"),
        ('"   "', "empty_text"),
        ('"a \\ud83d b"', "lone_surrogate"),
    ],
)
def test_a_bad_text_costs_its_turn_and_no_more(memlake: Memlake, tmp_path: Path, text: str, reason: str):
    line = '{"conversation_id": "x", "turns": [{"text": "before"}, {"text": %s}, {"text": "after"}]}\n'
    (tmp_path / "turns.jsonl").write_text(line % text)
    ingest(memlake, tmp_path / "turns.jsonl")
    rows = json.loads(memlake("sql", "select text from turns order by ordinal", "--json").stdout)
    texts = [row["text"] for row in rows]
    assert (texts[0], texts[-1]) == ("before", "after")
    assert "None" not in texts
    assert [letter["reason"] for letter in letters(memlake)] == [reason]


def test_a_session_without_a_date_has_none_and_no_header(memlake: Memlake, tmp_path: Path):
    (tmp_path / "undated.jsonl").write_text(GOOD)
    code, _ = ingest(memlake, tmp_path / "undated.jsonl")
    query = "select session_at, session_label, (select min(show_text) from units) as shown from turns"
    rows = json.loads(memlake("sql", query, "--json").stdout)
    assert (code, rows) == (0, [{"session_at": None, "session_label": None, "shown": "Ana: All is well."}])


def test_an_unknown_format_is_refused_with_the_known_ones(memlake: Memlake, tmp_path: Path):
    (tmp_path / "good.jsonl").write_text(GOOD)
    done = memlake("ingest", "good.jsonl", "--corpus", "c", "--format", "memlake-conversation")
    assert done.returncode == 2
    assert "memlake-conversations" in done.stderr
    assert not (tmp_path / "lake").exists()


def test_content_of_no_known_format_is_named(memlake: Memlake, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("just some notes\n")
    done = memlake("ingest", "notes.txt", "--corpus", "c")
    assert done.returncode in (2, 3)
    assert "notes.txt" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_overlap_as_wide_as_the_chunk_is_refused_before_anything_is_written(memlake: Memlake, tmp_path: Path):
    (tmp_path / "good.jsonl").write_text(GOOD)
    done = memlake("ingest", "good.jsonl", "--corpus", "c", "--chunk-size", "100", "--overlap", "100")
    assert done.returncode == 2
    assert "overlap=100" in done.stderr
    assert not (tmp_path / "lake").exists()


def test_a_missing_source_is_named(memlake: Memlake):
    done = memlake("ingest", "nowhere.jsonl", "--corpus", "c")
    assert done.returncode == 2
    assert "nowhere.jsonl" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_dies_alone(memlake: Memlake, tmp_path: Path):
    (tmp_path / "good.jsonl").write_text(GOOD)
    (tmp_path / "locked.jsonl").write_text(GOOD)
    (tmp_path / "locked.jsonl").chmod(0)
    code, made = ingest(memlake, tmp_path / "good.jsonl", tmp_path / "locked.jsonl")
    assert code == 3
    assert made["dead_letters"] == {"unreadable": 1}
    assert stored(memlake) == ["good"]


@pytest.mark.parametrize("corpus", ["", "a/b", "../up", "a__b", "x" * 101])
def test_a_corpus_that_is_no_name_is_refused(memlake: Memlake, tmp_path: Path, corpus: str):
    (tmp_path / "good.jsonl").write_text(GOOD)
    done = memlake("ingest", "good.jsonl", "--corpus", corpus)
    assert done.returncode == 2
    assert "is not a name" in done.stderr


def test_ids_and_texts_full_of_syntax_are_only_data(memlake: Memlake, tmp_path: Path):
    hostile = "x'); drop table turns; -- [bold]{0}%s../..\\ \x1b[31m"
    line = {"conversation_id": hostile, "turns": [{"text": hostile, "speaker": hostile, "session_at": "2024-01-01"}]}
    (tmp_path / "hostile.jsonl").write_text(json.dumps(line) + "\n")
    code, made = ingest(memlake, tmp_path / "hostile.jsonl")
    assert code == 0, made
    assert stored(memlake) == [hostile]
    shown = memlake("sql", "select text from turns").stdout
    assert "[bold]{0}%s" in shown
    assert "\x1b" not in shown
    assert memlake("tables", "verify").returncode == 0
