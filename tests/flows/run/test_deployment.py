"""infra/prefect.yaml against a real Prefect server and a real worker, all on loopback and in folders of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

import memlake
from memlake.flows.run.temporary_server import answers

REPOSITORY = Path(__file__).parents[3]
START_LIMIT_S = 180


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Settings of a server, a worker and a client that share nothing with the user's Prefect."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "MEMLAKE"))}
    return inherited | {
        "HOME": str(tmp_path),
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PYTHONPATH": str(REPOSITORY),
    }


@pytest.mark.long
@pytest.mark.timeout(400)
def test_the_deployment_ingests_when_a_worker_runs_it(tmp_path: Path, environment: dict[str, str]):
    source = tmp_path / "talk.jsonl"
    turns = [{"conversation_id": "c1", "speaker": name, "text": text} for name, text in [("Ana", "hi"), ("Ben", "yes")]]
    source.write_text("\n".join(map(json.dumps, turns)) + "\n", encoding="utf-8")
    settings = {"sources": [str(source)], "corpus": "talks", "lake": str(tmp_path / "lake")}

    with server(environment, log=tmp_path / "server.log"):
        prefect(environment, "work-pool", "create", "memlake", "--type", "process")
        prefect(environment, "--no-prompt", "deploy", "--all", "--prefect-file", "infra/prefect.yaml")
        deployment = json.loads(prefect(environment, "deployment", "inspect", "ingest/transcripts", "-o", "json"))
        prefect(environment, "deployment", "run", "ingest/transcripts", "--param", f"settings={json.dumps(settings)}")
        worked = prefect(environment, "worker", "start", "--pool", "memlake", "--run-once")

    assert "Finished in state Completed()" in worked
    assert deployment["global_concurrency_limit"]["limit"] == 1
    assert deployment["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert [schedule["active"] for schedule in deployment["schedules"]] == [False]
    lake = memlake.open(settings["lake"])
    texts = memlake.table(lake, "turns", columns=["text"]).column("text").to_pylist()
    assert sorted(texts) == ["hi", "yes"]


def test_every_flow_has_a_deployment_whose_parameters_fit_it():
    from memlake.flows import deployments

    flows = {name for name, value in vars(deployments).items() if type(value).__name__ == "Flow"}
    declared = yaml.safe_load((REPOSITORY / "infra" / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    entrypoints = [deployment["entrypoint"].rpartition(".") for deployment in declared]
    assert {module for module, _, _ in entrypoints} == {deployments.__name__}
    assert sorted(name for _, _, name in entrypoints) == sorted(flows)
    for deployment, (_, _, name) in zip(declared, entrypoints, strict=True):
        assert getattr(deployments, name).name == name
        getattr(deployments, name).validate_parameters(deployment["parameters"])


def prefect(environment: dict[str, str], *arguments: str) -> str:
    """Run Prefect's command from the repository's root; what it printed on both streams, stdout alone for JSON."""
    run = subprocess.run(
        [sys.executable, "-m", "prefect", *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout if "json" in arguments else run.stdout + run.stderr


@contextmanager
def server(environment: dict[str, str], *, log: Path) -> Iterator[None]:
    """`prefect server start` with everything that it starts, ended at the end."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--no-ui"],
            env=environment,
            stdout=sink,
            stderr=sink,
            process_group=0,
        )
    try:
        deadline = time.monotonic() + START_LIMIT_S
        while not answers(int(environment["PREFECT_SERVER_API_PORT"])):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
