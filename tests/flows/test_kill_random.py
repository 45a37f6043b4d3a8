"""kill -9 at ten random moments of a real ingest command; minutes, so `make long` runs it and `make test` does not."""

import random
import subprocess
import sys
import time

import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations

from memlake.transforms.lake.storage.lake import open_lake


def ingest(lake, source, *, kill_after_s=None):
    command = [
        sys.executable,
        "-m",
        "memlake.flows.cli",
        "ingest",
        str(source),
        "--corpus",
        "c",
        "--lake",
        str(lake),
        "--quiet",
    ]
    with subprocess.Popen(command) as process:
        try:
            process.wait(kill_after_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return "killed"
    assert process.returncode == 0
    return "done"


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_ten_random_kills_each_converge_to_one_clean_run(tmp_path):
    before = [conversation(f"c{n}", 60) for n in range(300)]
    after = [
        *before[:100],
        *(conversation(f"c{n}", 66) for n in range(100, 300)),
        *(conversation(f"n{n}", 60) for n in range(200)),
    ]
    first = write_conversations(tmp_path / "before.jsonl", before)
    second = write_conversations(tmp_path / "after.jsonl", after)
    ingest(tmp_path / "clean", first)
    began = time.monotonic()
    ingest(tmp_path / "clean", second)
    whole_s = time.monotonic() - began
    clean = digest(tmp_path / "clean")
    rng = random.Random(11)
    outcomes = []
    for point in range(10):
        lake = tmp_path / f"lake{point}"
        ingest(lake, first)
        old = open_lake(str(lake)).latest().snapshot_id
        held = digest(lake)
        outcomes.append(ingest(lake, second, kill_after_s=rng.uniform(0.1 * whole_s, whole_s)))
        assert digest(lake, old) == held
        ingest(lake, second)
        assert digest(lake) == clean
        assert digest(lake, old) == held
        assert_sound(lake)
    assert outcomes.count("killed") >= 8, outcomes
