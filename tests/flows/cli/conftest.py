"""The real command in a process of its own, and a small lake that it made."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import warm_python

REPOSITORY = Path(__file__).parents[3]
Memlake = Callable[..., "subprocess.CompletedProcess[str]"]

TURNS = (
    ("ana", "Ana", "Shoes stay outside everywhere except in the hall.", "2024-05-06T09:00"),
    ("ana", "Ben", "And the dog? He sleeps on the sofa until the blanket is washed.", "2024-05-06T09:00"),
    ("ana", "Ana", "Only on Sundays. The gate code is 4471.", "2024-05-07T18:30"),
    ("zoë", "Zoë", "Nous partons le 12 mai, pas le 10.", "2024-05-08T10:00"),
)


def environment(**extra: str) -> dict[str, str]:
    """This environment without settings of memlake and Prefect, so that a developer's own do not reach a test."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MEMLAKE_", "PREFECT_", "OPENAI_"))
    }
    return {**kept, "PYTHONPATH": str(REPOSITORY), "PREFECT_HOME": "/nonexistent", **extra}


def run(*arguments: str, cwd: Path, **extra: str) -> "subprocess.CompletedProcess[str]":
    return warm_python.run("-m", "memlake.flows.cli", *arguments, cwd=cwd, env=environment(**extra))


def transcripts(path: Path) -> Path:
    """Two conversations with a question each, as memlake's own JSONL."""
    questions = {
        "ana": {
            "text": "Where may shoes be worn?",
            "answer": "in the hall",
            "category": "qualifier",
            "evidence": ["t0"],
        },
        "zoë": {"text": "Quand partons-nous ?", "answer": "le 12 mai", "category": "update", "evidence": ["t0"]},
    }
    lines = []
    for conversation in questions:
        turns = [
            {"text": text, "speaker": speaker, "session_at": at}
            for name, speaker, text, at in TURNS
            if name == conversation
        ]
        for place, turn in enumerate(turns):
            turn["turn_id"] = f"t{place}"
        lines.append({"conversation_id": conversation, "turns": turns, "questions": [questions[conversation]]})
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def bare_environment() -> dict[str, str]:
    """The environment in which the command is run here."""
    return environment()


@pytest.fixture
def memlake(tmp_path: Path) -> Memlake:
    """Run `memlake ARGUMENTS` in an empty folder; keyword arguments are environment variables."""

    def call(*arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        return run(*arguments, cwd=tmp_path, **extra)

    return call


@pytest.fixture
def started_memlake(tmp_path: Path) -> Memlake:
    """As `memlake`, in an interpreter that starts for it, as a user's does."""

    def call(*arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "memlake.flows.cli", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(**extra), capture_output=True, text=True, timeout=110, check=False
        )

    return call


@pytest.fixture(scope="session")
def made_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two conversations, represented as chunks and turns; not to be written to."""
    folder = tmp_path_factory.mktemp("made")
    source = transcripts(folder / "transcripts.jsonl")
    done = run("ingest", str(source), "--corpus", "small", "--representations", "chunks,turns", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "lake"


@pytest.fixture
def lake(made_lake: Path, tmp_path: Path) -> Path:
    """A copy of the small lake at ./lake, to be read and written at will."""
    return Path(shutil.copytree(made_lake, tmp_path / "lake"))
