"""kill -9 at any point of an ingest, run again: the same contents as one clean run, nothing twice."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations, write_turns

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.lake.storage.lake import open_lake

# Runs an ingest that kills itself at the n-th call of a function, before or after it did its work.
SUPPORT = str(Path(__file__).parents[1] / "support")
KILLED = """
import sys
sys.path.append(sys.argv[1])
from killing import kill_at
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
lake, source, target, nth, when = sys.argv[2:]
kill_at(target, int(nth), when)
ingest(IngestSettings(lake, "c", (source,), shard_bytes=6_000, representations=("chunks", "turns")))
"""
# Some of them in `make test`, the others in `make long`.
POINTS = [
    ("memlake.transforms.read.batches._batch", 2, "after"),
    pytest.param("memlake.transforms.lake.storage.files.PartitionWriter._encode", 3, "after", marks=pytest.mark.long),
    pytest.param("memlake.transforms.lake.storage.files.stage_fragments", 2, "after", marks=pytest.mark.long),
    pytest.param("memlake.transforms.lake.stage.bundle.put_manifest", 1, "after", marks=pytest.mark.long),
    ("memlake.transforms.lake.stage.bundle.put_manifest", 3, "before"),
    pytest.param("memlake.transforms.lake.commit.publish.commit_table", 1, "after", marks=pytest.mark.long),
    ("memlake.transforms.lake.commit.publish.commit_table", 4, "before"),
    pytest.param("memlake.transforms.lake.commit.publish.commit_fragments", 1, "after", marks=pytest.mark.long),
    ("memlake.transforms.lake.commit.publish.tag_version", 1, "after"),
    pytest.param("memlake.transforms.lake.storage.lake.Lake.append_snapshot", 1, "before", marks=pytest.mark.long),
    ("memlake.transforms.lake.storage.lake.Lake.append_snapshot", 1, "after"),
    pytest.param("memlake.transforms.lake.commit.publish.drop_manifest", 1, "after", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> tuple[Path, Path]:
    """What the lake holds before, and what the killed ingest brings: changed, new and unchanged conversations."""
    folder = tmp_path_factory.mktemp("sources")
    before = [conversation(f"c{n}", 20) for n in range(6)]
    after = [
        *before[:3],
        *(conversation(f"c{n}", 26) for n in range(3, 6)),
        *(conversation(f"n{n}", 20) for n in range(4)),
    ]
    return write_conversations(folder / "before.jsonl", before), write_conversations(folder / "after.jsonl", after)


def ingest_into(lake: Path, source: Path) -> None:
    ingest(IngestSettings(str(lake), "c", (str(source),), shard_bytes=6_000, representations=("chunks", "turns")))


@pytest.fixture(scope="module")
def clean(tmp_path_factory, sources) -> dict[str, tuple[int, int, int]]:
    lake = tmp_path_factory.mktemp("clean") / "lake"
    for source in sources:
        ingest_into(lake, source)
    return digest(lake)


@pytest.mark.parametrize(("target", "nth", "when"), POINTS)
def test_a_run_killed_anywhere_converges_to_a_clean_run(tmp_path, sources, clean, target, nth, when):
    lake = tmp_path / "lake"
    ingest_into(lake, sources[0])
    old = open_lake(str(lake)).latest().snapshot_id
    before = digest(lake)
    done = warm_python.run("-c", KILLED, SUPPORT, str(lake), str(sources[1]), target, str(nth), when)
    assert done.returncode == -signal.SIGKILL, "the point was never reached"
    assert digest(lake, old) == before
    ingest_into(lake, sources[1])
    assert digest(lake) == clean
    assert digest(lake, old) == before
    assert_sound(lake)
    assert (
        ingest(IngestSettings(str(lake), "c", (str(sources[1]),), representations=("chunks", "turns")))["snapshot_id"]
        is None
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_a_first_run_killed_at_a_random_moment_converges(tmp_path, sources, seed):
    lake, source = tmp_path / "lake", sources[1]
    turns = write_turns(tmp_path / "turns.jsonl", [conversation(f"c{n}", 30) for n in range(8)])
    delay_s = random.Random(seed).uniform(0.5, 4.0)
    for path in (source, turns):
        command = [sys.executable, "-m", "memlake.flows.cli", "ingest", str(path), "--corpus", "c", "--lake", str(lake)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(delay_s)
            except subprocess.TimeoutExpired:
                process.kill()
        ingest_into(lake, path)
    ingest_into(tmp_path / "clean", source)
    ingest_into(tmp_path / "clean", turns)
    assert digest(lake) == digest(tmp_path / "clean")
    assert_sound(lake)
