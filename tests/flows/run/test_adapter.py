import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from memlake.flows.run import temporary_server as servers
from memlake.flows.run.adapter import configured_api, in_prefect_run, publish_artifact, run_flow, step
from memlake.transforms.base.errors import AuditError, PrefectUnavailableError, UsageError

# A command as a user would run it: its flow has two steps and an artifact, and may fail.
COMMAND = """
    import json, os, sys
    from dataclasses import dataclass
    from memlake.flows.run.adapter import in_prefect_run, publish_artifact, run_flow, step
    from memlake.transforms.base.errors import AuditError

    @dataclass(frozen=True)
    class Settings:
        number: int = 3
        fail: bool = False

    attempts = []

    def double(number: int) -> int:
        return 2 * number

    def audit(fail: bool) -> None:
        attempts.append(fail)
        if fail:
            raise AuditError("2 rows offend", hint="memlake tables verify")

    def flow(settings: Settings) -> dict[str, object]:
        doubled = step(double, name="double")(settings.number)
        publish_artifact("doubled", rows=[{"number": settings.number, "doubled": doubled}], markdown="**done**")
        step(audit, name="audit", retries=2)(settings.fail)
        return {"doubled": doubled, "prefect": in_prefect_run(), "server": server_says()}

    def server_says() -> dict[str, object]:
        if not in_prefect_run():
            return {}
        from prefect.client.orchestration import get_client
        with get_client(sync_client=True) as client:
            artifacts = client.read_artifacts()
            settings = client.request("GET", "/admin/settings").json()
        return {
            "artifacts": sorted({artifact.key for artifact in artifacts if artifact.key}),
            "analytics": settings["server"]["analytics_enabled"],
            "track": os.environ["DO_NOT_TRACK"],
        }
"""


@pytest.fixture
def clean(tmp_path: Path) -> dict[str, str]:
    """An environment in which no Prefect API is configured and the user's home is empty."""
    inherited = {name: value for name, value in os.environ.items() if "PREFECT" not in name and name != "DO_NOT_TRACK"}
    root = Path(__file__).parents[3]
    (tmp_path / "home").mkdir()
    return inherited | {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(root), "TMPDIR": str(tmp_path)}


def files(folder: Path) -> list[str]:
    """Every path below a folder; the user's home stands in it, empty."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def command(script: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(COMMAND) + textwrap.dedent(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def documents(script: str, environment: dict[str, str]) -> tuple[list[dict[str, object]], str]:
    """What the command printed, each line of stdout as a document, and its stderr."""
    process = command(script, environment)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()], err


def test_without_an_api_a_flow_runs_in_line_and_prefect_is_never_imported(clean, tmp_path):
    script = """
        try:
            print(json.dumps(run_flow(flow, Settings(), name="doubling")))
            run_flow(flow, Settings(fail=True), name="doubling")
        except AuditError as error:
            print(json.dumps({"error": str(error), "hint": error.hint, "attempts": len(attempts)}))
        print(json.dumps({"imported": "prefect" in sys.modules}))
    """
    printed, err = documents(script, clean)
    assert printed == [
        {"doubled": 6, "prefect": False, "server": {}},
        {"error": "2 rows offend", "hint": "memlake tables verify", "attempts": 2},
        {"imported": False},
    ]
    assert err == ""
    assert files(tmp_path) == ["home"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_prefect_true_runs_on_a_temporary_server_and_leaves_the_users_files_alone(clean, tmp_path):
    script = """
        print(json.dumps(run_flow(flow, Settings(), name="doubling", prefect=True)))
        print(json.dumps({name: name in os.environ for name in ("PREFECT_API_URL", "PREFECT_HOME")}))
    """
    # A profile that cannot be meant for the temporary server must not reach it.
    printed, err = documents(script, clean | {"PREFECT_PROFILE": "elsewhere"})
    server = {"artifacts": ["doubled", "doubled-text"], "analytics": False, "track": "1"}
    assert printed == [
        {"doubled": 6, "prefect": True, "server": server},
        {"PREFECT_API_URL": False, "PREFECT_HOME": False},
    ]
    assert "starting a temporary Prefect server" in err
    assert "Finished in state Completed()" in err
    assert "Traceback" not in err
    assert files(tmp_path) == ["home"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_configured_server_gets_the_run_and_our_errors_come_back_unchanged(clean):
    script = """
        import logging
        logging.warning("a library sets up logging before Prefect does")
        try:
            run_flow(flow, Settings(fail=True), name="doubling")
        except AuditError as error:
            print(json.dumps({"error": str(error), "hint": error.hint, "attempts": len(attempts)}))
        print(json.dumps({"prefect": run_flow(flow, Settings(), name="doubling")["prefect"]}))
        print(json.dumps({"prefect": run_flow(flow, Settings(), name="doubling", prefect=False)["prefect"]}))
    """
    with servers.temporary_server() as server:
        server.wait_until_ready()
        printed, err = documents(script, clean | {"PREFECT_API_URL": server.url})
    assert printed == [
        {"error": "2 rows offend", "hint": "memlake tables verify", "attempts": 1},
        {"prefect": True},
        {"prefect": False},
    ]
    assert "temporary" not in err
    assert "Finished in state Failed" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_9_of_the_command_leaves_no_process_and_no_file(clean, tmp_path):
    script = """
        def wait(settings: Settings) -> None:
            print("running", flush=True)
            sys.stdin.read()

        run_flow(wait, Settings(), name="waiting", prefect=True)
    """
    assert_nothing_is_left(command(script, clean), tmp_path)


def test_kill_9_while_the_server_starts_leaves_no_process_and_no_file(clean, tmp_path):
    script = """
        from memlake.flows.run.temporary_server import temporary_server

        with temporary_server():
            print("running", flush=True)
            sys.stdin.read()
    """
    assert_nothing_is_left(command(script, clean), tmp_path)


def assert_nothing_is_left(process: "subprocess.Popen[str]", tmp_path: Path) -> None:
    assert process.stdout.readline() == "running\n", process.stderr.read()
    started = psutil.Process(process.pid).children(recursive=True)
    assert len(started) >= 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert alive == []
    assert [name for name in files(tmp_path) if name.startswith("memlake-")] == []


def test_a_server_that_cannot_start_is_an_error_with_the_end_of_its_log(monkeypatch):
    monkeypatch.setattr(servers, "SERVE", "raise SystemExit('the disk is full')")
    with pytest.raises(PrefectUnavailableError, match="ended at its start: the disk is full"):  # noqa: SIM117
        with servers.temporary_server() as server:
            server.wait_until_ready()
    assert server.supervisor.returncode is not None
    assert not server.home.exists()


def test_a_server_that_does_not_answer_in_time_is_an_error_that_names_the_setting(monkeypatch):
    monkeypatch.setattr(servers, "SERVE", "import time; time.sleep(600)")
    monkeypatch.setenv(servers.START_LIMIT_SETTING, "0.3")
    with pytest.raises(PrefectUnavailableError, match="did not answer within") as caught:  # noqa: SIM117
        with servers.temporary_server() as server:
            server.wait_until_ready()
    assert servers.START_LIMIT_SETTING in caught.value.hint
    assert not server.home.exists()


def test_an_api_that_does_not_answer_is_one_line_with_what_to_do(clean):
    script = """
        from memlake.transforms.base.errors import PrefectUnavailableError
        try:
            run_flow(flow, Settings(), name="doubling")
        except PrefectUnavailableError as error:
            print(json.dumps({"error": str(error), "hint": error.hint, "ran": len(attempts)}))
    """
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/api"
        [printed], _ = documents(script, clean | {"PREFECT_API_URL": url})
    assert url in printed["error"]
    assert "prefect server start" in printed["hint"]
    assert printed["ran"] == 0


def test_a_step_in_line_is_the_function_itself_and_an_artifact_is_nothing():
    assert step(len, name="length", retries=3) is len
    publish_artifact("key", rows=[{"a": 1}], markdown="text")
    assert not in_prefect_run()


def test_an_error_in_line_reaches_the_caller_as_it_is(monkeypatch):
    monkeypatch.setattr("memlake.flows.run.adapter.configured_api", lambda: None)
    error = AuditError("offends")

    def fail(settings: None) -> None:
        raise error

    with pytest.raises(AuditError) as caught:
        run_flow(fail, None, name="failing")
    assert caught.value is error


PROFILES = """
active = "local"
[profiles.local]
PREFECT_API_URL = "http://127.0.0.1:4200/api"
[profiles.ephemeral]
PREFECT_SERVER_ALLOW_EPHEMERAL_MODE = "true"
"""


@pytest.mark.parametrize(
    ("profiles", "environment", "url"),
    [
        (None, {}, None),
        (None, {"PREFECT_API_URL": "http://127.0.0.1:1/api"}, "http://127.0.0.1:1/api"),
        (None, {"PREFECT_API_URL": ""}, None),
        (PROFILES, {}, "http://127.0.0.1:4200/api"),
        (PROFILES, {"PREFECT_PROFILE": "ephemeral"}, None),
        (PROFILES, {"PREFECT_PROFILE": "absent"}, None),
        (PROFILES, {"PREFECT_API_URL": "http://127.0.0.1:1/api"}, "http://127.0.0.1:1/api"),
        ('active = "gone"', {}, None),
    ],
)
def test_a_configured_api_is_found_as_prefect_finds_it(tmp_path, monkeypatch, profiles, environment, url):
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if profiles is not None:
        (tmp_path / "profiles.toml").write_text(profiles, encoding="utf-8")
    assert configured_api() == url


def test_a_broken_profiles_file_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    path = tmp_path / "profiles.toml"
    monkeypatch.setenv("PREFECT_PROFILES_PATH", str(path))
    path.write_text("active = ", encoding="utf-8")
    with pytest.raises(UsageError, match="is not valid TOML") as caught:
        configured_api()
    assert str(path) in str(caught.value)
