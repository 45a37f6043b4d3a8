"""The journal of calls: every row gets in once, from workers that ended, live and were killed."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from memlake.schemas.calls import CALLS
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.records import calls as module
from memlake.transforms.llm.records.calls import CallLog, new_call_id, paid, sweep

ROW = {"request_hash": "h", "stage": "extract", "provider": "p", "model": "m", "outcome": "ok"}
WRITER = """
import sys, time
from pathlib import Path
from memlake.transforms.llm.records.calls import CallLog, new_call_id
log = CallLog(Path(sys.argv[1]), sys.argv[2])
for number in range(int(sys.argv[3])):
    log.add(call_id=new_call_id(), attempt=0, request_hash=str(number), stage="embed", provider="p", model="m", outcome="ok")
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lake(tmp_path):
    return open_lake(str(tmp_path / "lake"), create=True)


def rows(lake):
    table = lake.open_table(CALLS).to_pyarrow_table().select(CALLS.schema.names)
    return table.cast(CALLS.schema).sort_by([("logged_at", "ascending")]).to_pylist()


def segments(lake):
    return sorted((lake.staged / "calls").glob("*.jsonl"))


def writer(lake, run_id, count):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(lake.root), run_id, str(count)], stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"written\n"
    return process


def test_rows_come_through_as_they_were_added(lake):
    log = CallLog(lake.root, "run")
    first = new_call_id()
    log.add(
        call_id=first, attempt=0, **ROW | {"outcome": "transient"}, detail="<h1>502 \ud800\u2028\n{}</h1>" + "x" * 5000
    )
    log.add(
        call_id=first,
        attempt=1,
        **ROW,
        cell="c",
        mode="json_schema",
        tokens_in=5,
        tokens_out=2,
        tokens_cached=1,
        price_usd=0.25,
        latency_s=1.5,
    )
    log.add(call_id=new_call_id(), attempt=0, **ROW, from_cache=True, price_usd=0.0)
    log.close()
    assert sweep(lake) == 3
    failed, done, cached = rows(lake)
    assert (failed["call_id"], failed["attempt"], failed["outcome"], failed["run_id"]) == (first, 0, "transient", "run")
    assert failed["detail"].startswith("<h1>502 ?\u2028\n{}</h1>")
    assert len(failed["detail"]) == 2000
    assert failed["latency_s"] is failed["price_usd"] is failed["tokens_in"] is None
    assert (done["tokens_in"], done["tokens_cached"], done["price_usd"], done["latency_s"]) == (5, 1, 0.25, 1.5)
    assert (done["cell"], done["mode"], done["detail"], cached["from_cache"]) == ("c", "json_schema", None, True)
    assert segments(lake) == []
    assert sweep(lake) == 0
    assert len(new_call_id()) == 32


def test_nothing_is_made_where_nothing_was_called(lake):
    CallLog(lake.root, "run").close()
    assert not (lake.staged / "calls").exists()
    assert sweep(lake) == 0


def test_a_killed_workers_rows_are_swept_and_a_living_ones_are_left_to_it(lake):
    living, killed = writer(lake, "other", 40), writer(lake, "dead", 50)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert sweep(lake) == 50
    assert [path.name.split(".")[0] for path in segments(lake)] == ["other"]
    living.communicate()
    assert sweep(lake) == 40
    assert segments(lake) == []
    assert len({row["call_id"] for row in rows(lake)}) == 90


def test_this_runs_rows_get_in_even_while_a_worker_holds_them_and_once(lake):
    living, other = writer(lake, "mine", 30), writer(lake, "mine2", 5)
    assert sweep(lake, run_id="mine") == 30
    assert sweep(lake, run_id="mine") == 0
    assert len(segments(lake)) == 2
    for process in (living, other):
        process.communicate()
    assert sweep(lake) == 5
    assert segments(lake) == []
    assert len(rows(lake)) == 35


def test_a_line_that_a_kill_cut_short_is_left_out_and_what_is_no_row_too(lake):
    log = CallLog(lake.root, "run")
    log.add(call_id="a", attempt=0, **ROW)
    log.add(call_id="b", attempt=0, **ROW)
    log.close()
    (path,) = segments(lake)
    first, second = path.read_bytes().splitlines(keepends=True)
    broken = [
        b"\x00" * 9 + b"\n",
        b"[" * 100_000 + b"\n",
        b"[]\n",
        b"{}\n",
        json.dumps({**json.loads(first), "logged_at": "x"}).encode() + b"\n",
    ]
    path.write_bytes(b"".join([*broken, first, second[:-1]]))
    assert sweep(lake) == 1
    assert [row["call_id"] for row in rows(lake)] == ["a"]
    assert segments(lake) == []


def test_a_kill_between_the_append_and_the_deletion_doubles_nothing(lake):
    log = CallLog(lake.root, "run")
    for number in range(10):
        log.add(call_id=f"{number % 5}", attempt=number // 5, **ROW)
    log.close()
    (path,) = segments(lake)
    content = path.read_bytes()
    assert sweep(lake) == 10
    path.write_bytes(content)  # as if it had been killed before it deleted
    later = CallLog(lake.root, "run2")
    later.add(call_id="new", attempt=0, **ROW)
    later.close()
    assert sweep(lake) == 1
    assert segments(lake) == []
    assert sorted((row["call_id"], row["attempt"]) for row in rows(lake)) == sorted(
        [(f"{number % 5}", number // 5) for number in range(10)] + [("new", 0)]
    )


def test_what_could_not_be_appended_is_left_for_a_later_sweep(lake, monkeypatch):
    log = CallLog(lake.root, "run")
    log.add(call_id="a", attempt=0, **ROW)
    log.close()

    def full(*_):
        raise OSError("no space left on the disk")

    with monkeypatch.context() as patched:
        patched.setattr(type(lake), "journal", full)
        with pytest.raises(OSError, match="no space left"):
            sweep(lake)
    assert len(segments(lake)) == 1
    assert sweep(lake) == 1
    assert [row["call_id"] for row in rows(lake)] == ["a"]


def test_a_row_that_stands_twice_in_what_is_swept_gets_in_once(lake):
    for _ in range(2):
        log = CallLog(lake.root, "run")
        for attempt in range(2):
            log.add(call_id="a", attempt=attempt, **ROW)
        log.close()
    assert sweep(lake, run_id="run") == 2
    assert [(row["call_id"], row["attempt"]) for row in rows(lake)] == [("a", 0), ("a", 1)]


def test_sweepers_at_the_same_time_add_each_row_once(lake, monkeypatch):
    monkeypatch.setattr(module, "_ROWS_AT_A_TIME", 7)
    for number in range(6):
        log = CallLog(lake.root, f"run{number}")
        for attempt in range(20):
            log.add(call_id=f"{number}", attempt=attempt, **ROW)
        log.close()
    added = []
    threads = [threading.Thread(target=lambda: added.append(sweep(lake))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(added) == 120
    assert len({(row["call_id"], row["attempt"]) for row in rows(lake)}) == len(rows(lake)) == 120


def test_what_a_run_paid_is_the_sum_of_its_rows(lake):
    log, other = CallLog(lake.root, "run"), CallLog(lake.root, "other")
    log.add(call_id="a", attempt=0, **ROW | {"outcome": "transient"})
    log.add(call_id="a", attempt=1, **ROW, tokens_in=10, tokens_out=5, price_usd=0.1)
    log.add(call_id="b", attempt=0, **ROW | {"outcome": "refused"}, tokens_in=7, tokens_out=0, price_usd=0.2)
    log.add(call_id="c", attempt=0, **ROW, from_cache=True, tokens_in=99, tokens_out=99, price_usd=0.0)
    log.add(call_id="d", attempt=0, **ROW | {"outcome": "missing"})
    other.add(call_id="e", attempt=0, **ROW, tokens_in=1000, price_usd=9.0)
    log.close()
    other.close()
    sweep(lake)
    assert paid(lake, "run") == {
        "calls": 3,
        "cached": 1,
        "tokens_in": 17,
        "tokens_out": 5,
        "price_usd": 0.3,
        "price_unknown": 0,
        "outcomes": {"missing": 1, "ok": 2, "refused": 1, "transient": 1},
    }
    assert paid(lake, "none")["calls"] == 0


def test_a_price_that_is_not_known_makes_the_sum_unknown(lake):
    log = CallLog(lake.root, "run")
    log.add(call_id="a", attempt=0, **ROW, tokens_in=10, price_usd=0.1)
    log.add(call_id="b", attempt=0, **ROW, tokens_in=10)
    log.close()
    sweep(lake)
    assert (paid(lake, "run")["price_usd"], paid(lake, "run")["price_unknown"]) == (None, 1)
