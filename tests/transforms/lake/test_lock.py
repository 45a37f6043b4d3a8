"""The writer lock: one holder at a time, the dead are replaced at once, the living are waited for."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict

import pytest

from memlake.transforms.base.errors import LakeBusyError, LakeConflictError
from memlake.transforms.lake.storage import lock as locks
from memlake.transforms.lake.storage.lock import STALE_AFTER_S, Holder, acquire, read_holder

HOLD = """
import sys, time
from pathlib import Path
from memlake.transforms.lake.storage.lock import acquire
with acquire(Path(sys.argv[1]), "other", timeout_s=5):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


def put(path, **changes):
    holder = Holder(
        token="t",
        host=socket.gethostname(),
        pid=os.getpid(),
        process_start=locks._process_start(os.getpid()),
        run_id="other",
        since=time.time(),
    )
    path.write_text(json.dumps({**asdict(holder), **changes}))


def test_a_released_lock_leaves_no_file(path):
    with acquire(path, "me", timeout_s=0):
        assert read_holder(path).run_id == "me"
    assert read_holder(path) is None


def test_a_living_holder_is_named_when_the_wait_is_over(path):
    put(path)
    with (
        pytest.raises(LakeBusyError, match=rf"run=other host=.* pid={os.getpid()}"),
        acquire(path, "me", timeout_s=0.2),
    ):
        pass


def test_a_killed_holder_is_replaced_at_once(path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(LakeBusyError), acquire(path, "me", timeout_s=0):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        with acquire(path, "me", timeout_s=0):
            assert read_holder(path).run_id == "me"


def test_a_reused_process_id_does_not_keep_a_dead_lock(path):
    put(path, process_start=1)
    with acquire(path, "me", timeout_s=0):
        pass


def test_another_hosts_lock_is_taken_over_only_when_its_heartbeat_is_stale(path):
    put(path, host="elsewhere", pid=1)
    with pytest.raises(LakeBusyError), acquire(path, "me", timeout_s=0):
        pass
    old = time.time() - STALE_AFTER_S - 1
    os.utime(path, (old, old))
    with acquire(path, "me", timeout_s=0):
        pass


def test_a_writer_that_lost_its_lock_is_told_and_leaves_the_other_alone(path):
    with acquire(path, "me", timeout_s=0) as held:
        put(path, token="thief")
        with pytest.raises(LakeConflictError):
            held.check()
    assert read_holder(path).token == "thief"


def test_many_writers_at_once_hold_it_one_after_the_other(path):
    inside, overlaps, done = [], [], []

    def work(number):
        with acquire(path, f"w{number}", timeout_s=30):
            inside.append(number)
            overlaps.append(len(inside))
            inside.remove(number)
            done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(8))
    assert set(overlaps) == {1}


def test_the_heartbeat_keeps_the_file_young(path, monkeypatch):
    monkeypatch.setattr(locks, "HEARTBEAT_S", 0.05)
    with acquire(path, "me", timeout_s=0):
        os.utime(path, (0, 0))
        deadline = time.monotonic() + 60
        while path.stat().st_mtime < 1 and time.monotonic() < deadline:
            os.sched_yield()
        assert path.stat().st_mtime > 1


def test_a_holder_that_is_a_zombie_is_dead(path):
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        start = locks._process_start(process.pid)
        assert start > 0
        process.stdin.close()
        # Ended and not yet waited for: its entry in /proc stays until then.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        put(path, pid=process.pid, process_start=start)
        with acquire(path, "me", timeout_s=0):
            assert read_holder(path).run_id == "me"


def test_the_heartbeat_of_a_lost_lock_ends_and_leaves_the_other_alone(path, monkeypatch):
    monkeypatch.setattr(locks, "HEARTBEAT_S", 0.02)
    with acquire(path, "me", timeout_s=0):
        [beating] = [thread for thread in threading.enumerate() if thread.name == "lake-lock-heartbeat"]
        put(path, token="thief")
        beating.join(timeout=10)
        assert not beating.is_alive()


def test_the_lock_is_looked_at_and_taken_in_one_step(path, monkeypatch):
    look, inside, overlaps = locks.read_holder, [], []

    def slowly(where):
        found = look(where)
        time.sleep(0.02)
        return found

    def work(number):
        with acquire(path, f"w{number}", timeout_s=30):
            inside.append(number)
            overlaps.append(len(inside))
            time.sleep(0.02)
            inside.remove(number)

    monkeypatch.setattr(locks, "read_holder", slowly)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overlaps == [1, 1, 1, 1]
