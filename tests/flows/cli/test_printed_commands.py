"""Every command that memlake prints as advice works as it is printed."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memlake.flows.cli.printing.remedies import remedy
from memlake.flows.run.config import lake_flag
from memlake.schemas import TABLES

Memlake = Callable[..., "subprocess.CompletedProcess[str]"]
TURNS = ["Shoes stay in the hall.", "The gate code is 4471."]


def write(path: Path, *texts: str, **more: object) -> str:
    """One conversation of these turns, as a file of one line."""
    turns = [{"text": text, "turn_id": f"t{place}"} for place, text in enumerate(texts)]
    path.write_text(json.dumps({"conversation_id": "a", "turns": turns, **more}) + "\n")
    return str(path)


def advice(text: str) -> list[list[str]]:
    """The commands at the ends of lines, as a shell would split them."""
    return [shlex.split(found)[1:] for found in re.findall(r"(?:hint: |again:) +(memlake .*)", text)]


@pytest.mark.parametrize("where", [(), ("--lake", "an odd 'lake'")])
def test_the_hint_after_dead_letters_shows_them_though_nothing_was_published(
    memlake: Memlake, tmp_path: Path, where: tuple[str, ...]
):
    (tmp_path / "odd.txt").write_text("no transcript")
    done = memlake("ingest", "odd.txt", "--corpus", "c", *where)
    assert done.returncode == 3
    [command] = advice(done.stderr)
    assert ("--lake" in command) == bool(where)
    shown = memlake(*command)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "odd.txt" in shown.stdout
    assert "unknown_format" in shown.stdout


def test_every_table_can_be_read_before_the_first_snapshot(memlake: Memlake, tmp_path: Path):
    (tmp_path / "odd.txt").write_text("no transcript")
    assert memlake("ingest", "odd.txt", "--corpus", "c").returncode == 3
    counts = ", ".join(f"(select count(*) from {table})::int as {table}" for table in TABLES)
    (rows,) = json.loads(memlake("sql", f"select {counts}", "--json").stdout)
    assert rows == dict.fromkeys(TABLES, 0) | {"runs": 2, "dead_letters": 1}
    for table in ("runs", "turns"):
        assert json.loads(memlake("tables", "show", table, "--json").stdout)["rows"] == rows[table]
    assert memlake("sql", "select 1", "--at", "nope").returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("where", [(), ("--lake", "an odd 'lake'")])
def test_the_advice_for_what_is_stale_makes_it_again(memlake: Memlake, tmp_path: Path, where: tuple[str, ...]):
    old = write(
        tmp_path / "old.jsonl",
        *TURNS,
        questions=[{"question_id": "q", "text": "Where?", "answer": "hall", "category": "x", "evidence": ["t0"]}],
        units=[{"representation": "my-notes", "text": "Shoes: hall.", "turn_ids": ["t0"]}],
    )
    made = ("--representations", "turns,chunks-s20:size=20,overlap=0")
    assert memlake("ingest", old, "--corpus", "c", *made, *where).returncode == 0
    new = write(tmp_path / "new.jsonl", *TURNS, "The dog sleeps on the sofa.")
    told = memlake("ingest", new, "--corpus", "c", "--embedder", "none", *where)
    assert told.returncode == 0
    said = {line.split(" ")[0]: line.rpartition("again: ")[2] for line in told.stdout.splitlines() if "again: " in line}
    assert said["questions:official"] == "ingest a source that brings them"
    assert said["units:my-notes"] == "ingest the source again that supplied its units"
    assert said["vectors:my-notes__static"] == said["units:my-notes"]
    commands = advice(told.stdout)
    assert {command[0] for command in commands} == {"represent", "embed"}
    for command in sorted(commands, key=lambda command: command[0] == "embed"):
        done = memlake(*command)
        assert done.returncode == 0, done.stderr
    query = (
        "select part, count(*)::int as n from parts where part like '%turns%' or part like '%chunks-s20%' group by part"
    )
    parts = json.loads(memlake("sql", query, "--json", *where).stdout)
    assert {row["part"] for row in parts} == {
        "turns", "units:turns", "units:chunks-s20", "vectors:turns__static", "vectors:chunks-s20__static"
    }  # fmt: skip


def test_the_lake_is_named_in_a_command_only_where_it_would_not_be_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMLAKE_LAKE", raising=False)
    assert [lake_flag(lake) for lake in ("./lake", str(tmp_path / "lake"), f"file://{tmp_path}/lake")] == [""] * 3
    assert lake_flag("an odd place") == " --lake 'an odd place'"
    monkeypatch.setenv("MEMLAKE_LAKE", "an odd place")
    assert lake_flag("an odd place") == ""
    assert lake_flag("./lake") == " --lake ./lake"


def test_what_is_stale_in_another_corpus_is_made_again_there():
    stale = "vectors:chunks__static of corpus b"
    command = "memlake embed --corpus b --representations chunks --embedder static --lake 'a lake'"
    assert remedy(stale, among=[stale], corpus="a", lake="a lake") == command
