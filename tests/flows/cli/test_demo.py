"""The demo, as a newcomer runs it."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
Memlake = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.slow
def test_the_demo_runs_through_prefect_and_tells_what_the_summary_lost(memlake: Memlake):
    done = memlake("demo", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    kept = {row["representation"]: row for row in found["kept"]}
    assert [row["n"] + sum(row["excluded"].values()) for row in kept.values()] == [found["questions"]] * 3
    assert kept["chunks"]["in_store"] == kept["turns"]["in_store"] == 1.0
    assert 0 < kept["rule_summary"]["in_store"] < 0.6
    assert all(row["in_context"]["200"] <= row["in_context"]["500"] <= row["in_store"] for row in kept.values())
    assert found["lost"]["said"].startswith(found["lost"]["kept"])
    assert found["lost"]["words"]
    assert "temporary Prefect server" in done.stderr


def test_the_demo_is_as_the_readme_shows_it_and_its_next_commands_work(memlake: Memlake, tmp_path: Path):
    shown = memlake("demo", "--no-prefect", "--lake", str(tmp_path / "a lake"))
    assert (shown.returncode, shown.stderr) == (0, "")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert shown.stdout.replace(shlex.quote(str(tmp_path / "a lake")), "/tmp/memlake-demo-k3v0x7").strip() in readme
    following = shown.stdout.split("Next:\n")[1].splitlines()
    assert len(following) == 3
    assert all(line.startswith("  memlake ") for line in following)
    for line in following[:2]:
        done = memlake(*shlex.split(line)[1:])
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) > 1


@pytest.mark.long
def test_the_demo_in_a_lake_that_has_it_already_adds_no_conversation(memlake: Memlake):
    first, again = (json.loads(memlake("demo", "--no-prefect", "--lake", "d", "--json").stdout) for _ in range(2))
    assert again["ingest"]["counts"] == {}
    assert again["kept"] == first["kept"]
    assert again["lost"] == first["lost"]
    asked = "select sum(characters)::bigint as n from conversations"
    (stored,) = json.loads(memlake("sql", asked, "--lake", "d", "--json").stdout)
    assert first["characters"] == stored["n"], "stores are compared with the transcripts, not with overlapping chunks"
