"""kill -9 at any point of an extraction, run again: what a clean run holds, and no more paid twice than was in flight."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import warm_python
from extraction_runs import assert_every_turn_is_in_a_piece, represent_settings, rows, table
from lake_contents import assert_sound, digest
from openai_server import Faults, OpenAIServer
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.represent import represent
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.lake.storage.lake import open_lake

NAME = "artifacts-t4:granularity=turns,turns=4"
IN_FLIGHT = 8
# Faults that come each time the request does, so that a clean run and two halves are told the same.
SAME_EACH_TIME = Faults(marked=(("winter lamp", "cut"), ("market paper", "refusal"), ("silver early", "wrong_schema")))
# Extracts; kills itself at the n-th call of a function, before or after it did its work.
SUPPORT = str(Path(__file__).parents[1] / "support")
KILLED = """
import sys
sys.path.append(sys.argv[1])
from killing import kill_at
from memlake.transforms.llm.settings import ModelSettings
from memlake.flows.represent import represent
from memlake.flows.run.settings import RepresentSettings
lake, url, name, target, nth, when = sys.argv[2:]
kill_at(target, int(nth), when)
models = ModelSettings(model="test-model", base_url=url, max_in_flight=8)
represent(RepresentSettings(lake, "c", (name,), models=models, embedder="none", shard_bytes=3_000))
"""
POINTS = [
    ("", 25, "calls are made by two worker processes of the command"),
    ("memlake.transforms.llm.records.cache.put_once", 5, "before"),
    pytest.param("memlake.transforms.llm.records.cache.put_once", 20, "after", marks=pytest.mark.long),
    ("memlake.transforms.lake.stage.bundle.put_manifest", 1, "before"),
    ("memlake.transforms.lake.commit.publish.commit_table", 1, "before"),
    ("memlake.transforms.lake.storage.lake.Lake.append_snapshot", 1, "after"),
]
# From here on every reply is in the cache.
ALL_ANSWERED = "memlake.transforms.lake.commit.publish"


@dataclass(frozen=True)
class Clean:
    """What one run that nobody killed comes to."""

    digest: dict[str, tuple[int, int, int]]
    pieces: list[dict]
    bodies: dict[str, int]


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    talks = [conversation(f"c{n}", 32) for n in range(5)]
    return write_conversations(tmp_path_factory.mktemp("source") / "talks.jsonl", talks)


@pytest.fixture(scope="module")
def server():
    with OpenAIServer(latency_s=0.01, faults=SAME_EACH_TIME) as server:
        yield server


@pytest.fixture(scope="module")
def clean(tmp_path_factory, source, server) -> Clean:
    lake = tmp_path_factory.mktemp("clean") / "lake"
    ingest(IngestSettings(str(lake), "c", (str(source),)))
    server.reset()
    represent(represent_settings(lake, "c", [NAME], server, shard_bytes=3_000))
    found = assert_every_turn_is_in_a_piece(lake, "artifacts-t4")
    assert found["failed", "refused"] > 0, "the faults never happened"
    return Clean(digest(lake), pieces_of(lake), server.stats().bodies)


def pieces_of(lake: Path) -> list[dict]:
    return (
        table(lake, "extractions", "artifacts-t4")
        .sort_by([("conversation_id", "ascending"), ("piece", "ascending")])
        .to_pylist()
    )


@pytest.mark.slow
@pytest.mark.parametrize(("target", "nth", "when"), POINTS)
def test_an_extraction_killed_anywhere_pays_at_most_what_was_in_flight_twice(
    tmp_path, source, server, clean, target, nth, when
):
    lake = tmp_path / "lake"
    ingest(IngestSettings(str(lake), "c", (str(source),)))
    old = open_lake(str(lake)).snapshot().snapshot_id
    before = digest(lake)
    server.set(hold_after=None if target else nth)
    server.reset()
    if target:
        ended = warm_python.run("-c", KILLED, SUPPORT, str(lake), server.url, NAME, target, str(nth), when).returncode
    else:
        flags = f"represent {NAME} --corpus c --lake {lake} --model test-model --base-url {server.url} --embedder none"
        flags += f" --max-in-flight {IN_FLIGHT} --workers 2 --no-prefect --quiet"
        command = [sys.executable, "-m", "memlake.flows.cli", *flags.split()]
        with subprocess.Popen(command, start_new_session=True) as process:
            wait_for(lambda: held(server, nth) or process.poll() is not None)
            os.killpg(process.pid, signal.SIGKILL)
            ended = process.wait(60)
    assert ended == -signal.SIGKILL, "the point was never reached"
    wait_for(lambda: server.stats().in_flight == 0)
    first = server.stats()
    server.set(hold_after=None)
    if when != "after" or target != "memlake.transforms.lake.storage.lake.Lake.append_snapshot":
        assert open_lake(str(lake)).snapshot().snapshot_id == old
    assert digest(lake, old) == before
    represent(represent_settings(lake, "c", [NAME], server, shard_bytes=3_000, max_in_flight=IN_FLIGHT))
    both = server.stats()

    assert both.bodies.keys() == clean.bodies.keys()
    twice = {body for body, count in both.bodies.items() if count > 1}
    assert both.calls - sum(clean.bodies.values()) == len(twice)
    assert len(twice) <= IN_FLIGHT
    assert max(both.bodies.values()) <= 2
    if not target:
        assert len(twice) == first.abandoned == IN_FLIGHT
    if target.startswith(ALL_ANSWERED):
        assert both.calls == first.calls
    assert digest(lake) == clean.digest
    assert pieces_of(lake) == clean.pieces
    assert_sound(lake)
    assert_every_paid_call_is_a_row(lake, calls=both.calls)
    assert represent(represent_settings(lake, "c", [NAME], server, shard_bytes=3_000))["snapshot_id"] is None
    assert server.stats().calls == both.calls


def held(server: OpenAIServer, answered: int) -> bool:
    """Whether so many calls were answered and all that may be in flight wait for their answer."""
    stats = server.stats()
    return (stats.answered, stats.in_flight) == (answered, IN_FLIGHT)


def assert_every_paid_call_is_a_row(lake: Path, *, calls: int) -> None:
    """Each call that was paid is a row, but for those that were in flight: a reply is kept before it is booked."""
    ((paid, distinct, requests),) = rows(
        lake,
        "select count(*), count(distinct (call_id, attempt)), count(distinct request_hash) from calls where not from_cache",
    )
    assert paid == distinct
    assert calls - IN_FLIGHT <= paid <= calls
    ((known,),) = rows(
        lake,
        "select count(distinct request_hash) from calls where request_hash in (select request_hash from extractions)",
    )
    ((pieces,),) = rows(lake, "select count(distinct request_hash) from extractions")
    assert known == pieces
    assert requests <= calls
    assert list((lake / "staged" / "calls").glob("*.jsonl")) == []


def wait_for(true, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)
