"""What scripts rely on: one JSON document on stdout, errors of one shape, fixed exit codes, silence when told so."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Memlake = Callable[..., "subprocess.CompletedProcess[str]"]
READING = [
    ("tables", "ls"),
    ("tables", "show", "turns"),
    ("tables", "verify"),
    ("snapshots", "ls"),
    ("snapshots", "diff", "latest", "latest"),
    ("sql", "select * from turns"),
    ("doctor",),
    ("study", "ls"),
    ("search", "gate code", "--corpus", "small"),
]


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_json_is_one_document_and_nothing_else(memlake: Memlake, lake: Path, arguments: tuple[str, ...]):
    done = memlake(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    json.loads(done.stdout)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_people_get_text_without_escapes_when_stdout_is_no_terminal(
    memlake: Memlake, lake: Path, arguments: tuple[str, ...]
):
    done = memlake(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_ingest_json_is_one_document_with_the_promised_names(
    memlake: Memlake, started_memlake: Memlake, made_lake: Path
):
    source = made_lake.parent / "transcripts.jsonl"
    first = json.loads(started_memlake("ingest", str(source), "--corpus", "small", "--json").stdout)
    assert first.keys() >= {
        "run_id", "snapshot_id", "base_snapshot_id", "seen", "counts", "skipped", "stale", "evidence_invalid",
        "dead_letters", "seconds",
    }  # fmt: skip
    assert first["seen"] == {
        "conversations": 2, "sessions": 3, "turns": 4, "questions": 2, "questions_with_gold": 2
    }  # fmt: skip
    again = json.loads(memlake("ingest", str(source), "--corpus", "small", "--json").stdout)
    assert (again["snapshot_id"], again["counts"], again["skipped"]) == (None, {}, 2)


def test_nan_is_null_and_times_are_iso(memlake: Memlake, lake: Path):
    query = "select 'nan'::double as a, min(session_at) as b from turns"
    assert json.loads(memlake("sql", query, "--json").stdout) == [{"a": None, "b": "2024-05-06T09:00:00Z"}]


def test_an_error_under_json_is_a_document_on_stdout(memlake: Memlake, lake: Path):
    done = memlake("sql", "select * from turnz", "--json")
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["hint"]) == ("query", "memlake tables ls")
    assert error["message"].startswith("table='turnz' does not exist; nearest: turns")


def test_an_error_for_people_is_two_lines_on_stderr(memlake: Memlake, lake: Path):
    done = memlake("tables", "show", "turnz")
    assert (done.returncode, done.stdout) == (2, "")
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: table='turnz' is unknown; nearest: turns, ")
    assert hint == "hint:  memlake tables ls"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ingst"], "ingest"),
        (["tables", "lss"], "ls"),
        (["sql", "select 1", "--lakee", "x"], "--lake"),
        (["ingest", "x.jsonl"], "--corpus"),
        (["ingest", "--corpus", "a"], "SOURCES"),
        (["ingest", "x", "--corpus", "a", "--workers", "many"], "many"),
    ],
)
def test_usage_errors_end_with_2_and_name_what_was_meant(memlake: Memlake, arguments: list[str], says: str):
    done = memlake(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert json.loads(memlake(*arguments, "--json").stdout)["error"]["code"] == "usage"


def test_a_lake_that_is_not_there_is_a_usage_error_with_the_next_command(memlake: Memlake):
    done = memlake("tables", "ls", "--lake", "nowhere")
    assert done.returncode == 2
    assert done.stderr == "error: lake=nowhere does not exist\nhint:  memlake ingest SOURCE --corpus NAME creates it\n"


def test_an_unknown_snapshot_names_the_nearest(memlake: Memlake, lake: Path):
    assert memlake("snapshots", "tag", "before").returncode == 0
    done = memlake("sql", "select 1", "--at", "befor")
    assert done.returncode == 2
    assert "snapshot='befor' is unknown; nearest: before" in done.stderr


def test_quiet_says_nothing(memlake: Memlake, made_lake: Path):
    done = memlake("ingest", str(made_lake.parent / "transcripts.jsonl"), "--corpus", "small", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_quiet_says_nothing_when_prefect_takes_part(memlake: Memlake, made_lake: Path, tmp_path: Path):
    source = str(made_lake.parent / "transcripts.jsonl")
    done = memlake("ingest", source, "--corpus", "small", "--quiet", "--prefect", PREFECT_HOME=str(tmp_path / "home"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "command", ["ingest", *(pytest.param(name, marks=pytest.mark.long) for name in ("represent", "embed"))]
)
def test_a_configured_prefect_api_is_used_unless_the_run_is_to_be_in_line(memlake: Memlake, lake: Path, command: str):
    source = lake.parent / "more.jsonl"
    source.write_text(json.dumps({"conversation_id": "new", "text": "Hello."}) + "\n")
    named = {"ingest": (str(source),), "represent": ("sentences",), "embed": ()}[command]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/api"
        failed = memlake(command, *named, "--corpus", "small", PREFECT_API_URL=url)
        inline = memlake(command, *named, "--corpus", "small", "--no-prefect", PREFECT_API_URL=url)
        by_setting = memlake(command, *named, "--corpus", "small", PREFECT_API_URL=url, MEMLAKE_PREFECT="false")
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"error: the Prefect API {url} does not answer")
    assert inline.returncode == by_setting.returncode == 0, inline.stderr + by_setting.stderr


def test_a_reader_who_leaves_early_is_no_error(lake: Path, bare_environment: dict[str, str]):
    command = f"{sys.executable} -m memlake.flows.cli sql 'select range as n from range(500000)' | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=lake.parent, env=bare_environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", "n")


@pytest.mark.parametrize("arguments", [["--help"], ["ingest", "--help"], ["tables", "--help"], ["--version"]])
def test_a_reader_of_the_help_who_leaves_at_once_is_no_error(bare_environment: dict[str, str], arguments: list[str]):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "memlake.flows.cli", *arguments],
        env=bare_environment, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupting_ends_with_130(lake: Path, bare_environment: dict[str, str]):
    command = [
        sys.executable,
        "-m",
        "memlake.flows.cli",
        "sql",
        "select count(*) from range(10000000000) a, range(1000) b",
    ]
    with subprocess.Popen(command, cwd=lake.parent, env=bare_environment, stderr=subprocess.PIPE, text=True) as process:
        maps = Path(f"/proc/{process.pid}/maps")
        if not maps.exists():
            process.kill()
            pytest.skip("needs /proc to see when DuckDB is loaded")
        deadline = time.monotonic() + 60
        while "duckdb" not in maps.read_text() and time.monotonic() < deadline:
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.startswith("error: interrupted")


def test_settings_come_from_the_file_and_the_environment(memlake: Memlake, lake: Path, tmp_path: Path):
    (tmp_path / "memlake.toml").write_text('lake = "elsewhere"\n')
    assert "lake=elsewhere does not exist" in memlake("tables", "ls").stderr
    assert memlake("tables", "ls", MEMLAKE_LAKE="lake").returncode == 0
    (tmp_path / "memlake.toml").write_text('lakes = "x"\n')
    done = memlake("tables", "ls")
    assert done.returncode == 2
    assert "key='lakes' is unknown; allowed: lake," in done.stderr


def test_help_imports_nothing_heavy(bare_environment: dict[str, str]):
    code = "import sys; from memlake.flows.cli.main import run; run(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=bare_environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    loaded = {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & {"pyarrow", "duckdb", "lance", "deltalake", "apache_beam", "prefect", "numpy", "pydantic"}


def test_a_command_ends_when_its_work_is_done_whatever_threads_are_left(tmp_path: Path):
    code = (
        "import sys, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); "
        "sys.argv = ['memlake', '--version']; from memlake.flows.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
