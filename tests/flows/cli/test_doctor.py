"""A doctor who names what is wrong with a lake, whatever part of it is gone."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from memlake.flows.run import doctor as checkup
from memlake.flows.run.config import load

Memlake = Callable[..., "subprocess.CompletedProcess[str]"]
GONE = {
    "data of a table": "parquet/turns/**/*.parquet",
    "log of a table": "parquet/units/_delta_log/*",
    "data of a journal": "parquet/runs/*.parquet",
    "data of the snapshots": "parquet/snapshots/*.parquet",
    "log of the snapshots": "parquet/snapshots/_delta_log/*",
    "data of vectors": "lance/*/data/*",
    "versions of vectors": "lance/*/_versions/*",
}


@pytest.mark.parametrize("pattern", GONE.values(), ids=GONE)
def test_whatever_is_missing_is_a_problem_and_never_an_error(lake: Path, monkeypatch, pattern: str):
    monkeypatch.chdir(lake.parent)
    whole = checkup.check(load())
    assert whole.problems == []
    files = list(lake.glob(pattern))
    assert files
    for file in files:
        file.unlink()
    found = checkup.check(load())
    assert found.problems
    named = pattern.split("/")[1].replace("*", "__")
    assert any(named in problem or "books" in problem for problem in found.problems), found.problems
    assert found.duckdb == whole.duckdb


def test_the_command_reports_missing_files_and_ends_with_0(memlake: Memlake, lake: Path):
    for file in lake.glob("parquet/turns/**/*.parquet"):
        file.unlink()
    done = memlake("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "problem: table=turns misses 1 of 1 data files, first: " in done.stdout


@pytest.mark.parametrize(
    ("in_file", "variables", "flags", "says"),
    [
        ("overlap = 600\n", {}, (), "overlap=600 (from memlake.toml) is not allowed: it must be smaller than chunk_size=512 (from default)"),
        ("", {"MEMLAKE_OVERLAP": "100"}, ("--chunk-size", "100"), "overlap=100 (from MEMLAKE_OVERLAP) is not allowed: it must be smaller than chunk_size=100 (from flag)"),
        ("chunk_size = 50\n", {"MEMLAKE_OVERLAP": "70"}, (), "overlap=70 (from MEMLAKE_OVERLAP) is not allowed: it must be smaller than chunk_size=50 (from memlake.toml)"),
    ],
)  # fmt: skip
def test_an_overlap_that_cannot_be_says_where_it_comes_from(memlake, tmp_path, in_file, variables, flags, says):
    (tmp_path / "memlake.toml").write_text(in_file)
    (tmp_path / "a.jsonl").write_text('{"conversation_id": "a", "text": "b"}\n')
    done = memlake("ingest", "a.jsonl", "--corpus", "c", *flags, **variables)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {says}")
    assert not (tmp_path / "lake").exists()
    if not flags:
        assert says in json.loads(memlake("doctor", "--json", **variables).stdout)["problems"]


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"OPENAI_BASE_URL": "nonsense"}, "OPENAI_BASE_URL='nonsense' is not http://HOST/PATH"),
        ({"OPENAI_BASE_URL": "http://ana:hidden@127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1 does not answer: [Errno"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "hid\nden"}, "OPENAI_API_KEY holds a sign"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "hiddené"}, "OPENAI_API_KEY holds a sign"),
    ],
)
def test_what_is_wrong_with_the_model_server_is_said_with_its_setting_and_without_secrets(
    lake: Path, monkeypatch, variables: dict[str, str], says: str
):
    monkeypatch.chdir(lake.parent)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = checkup.check(load())
    [problem] = found.problems
    assert says in problem
    assert "OPENAI_" in problem  # the setting to mend
    assert not any(secret in json.dumps(asdict(found), default=str) for secret in ("hidden", "hid\\nden", "den'"))
