"""The life of an edge: shared by all of a process, on one loop, and gone without a trace."""

import asyncio
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from edges import ask, edge_and_quota, request, rows

from memlake.transforms.llm.edge import EdgeSettings, open_edge
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import quota_server


def test_callers_on_loops_of_their_own_share_the_edges_loop(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        for number in range(5):
            text = f"loop {number}"
            assert asyncio.run(edge.ask(request(text), stage="answer", about="")).text == text
    assert server.stats().connections <= 2  # one of the edge's, one of the test's


def test_an_edge_is_shared_until_its_last_user_closes_it(server, tmp_path):
    before = threading.active_count()
    with quota_server(Limits()) as quota:
        settings = EdgeSettings(str(tmp_path), "run-1", server.url, "test", quota.address)
        opened = []
        threads = [threading.Thread(target=lambda: opened.append(open_edge(settings))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first = open_edge(pickle.loads(pickle.dumps(settings)))
        assert {id(edge) for edge in opened} == {id(first)}
        for _ in range(8):
            first.close()
        assert ask(first, request())[0].outcome == "ok"
        first.close()
        first.close()
        with pytest.raises(RuntimeError, match="closed"):
            ask(first, request())
        second = open_edge(settings)
        assert second is not first
        assert ask(second, request())[0].from_cache
        second.close()
    assert threading.active_count() == before


def test_a_cancelled_call_gives_back_what_it_held_and_its_twins_go_on(server, tmp_path):
    server.set(hold_after=0)
    with edge_and_quota(server.url, tmp_path, limits=Limits(in_flight=1)) as (edge, _):
        first = edge.submit(edge.ask(request("held"), stage="extract", about=""))
        twin = edge.submit(edge.ask(request("held"), stage="extract", about=""))
        while server.stats().in_flight < 1:
            time.sleep(0.01)
        first.cancel()
        with pytest.raises(CancelledError):
            first.result(5)
        server.set(hold_after=None)
        assert twin.result(10).text == "held"
        assert ask(edge, request("another"))[0].text == "another"
    assert [row["detail"] for row in rows(tmp_path)] == ["CancelledError", None, None]


CLOSE = """
import sys
sys.path[:0] = {paths}
from edges import edge_and_quota, request
from pathlib import Path
with edge_and_quota({url!r}, Path({root!r})) as (edge, quota):
    asked = [edge.submit(edge.ask(request(str(n)), stage="extract", about="")) for n in range(40)]
    asked.append(edge.submit(edge.embed("e", ["a", "b"], about="")))
    while quota.attempts < 16:
        pass
assert all(future.done() for future in asked)
print("closed")
"""


def test_closing_in_the_middle_leaves_no_task_and_says_nothing(server, tmp_path):
    server.set(hold_after=0)
    program = CLOSE.format(paths=[path for path in sys.path if path], url=server.url, root=str(tmp_path))
    started = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", program]
    ended = subprocess.run(started, capture_output=True, text=True, timeout=60, cwd=Path.cwd())
    assert ended.stdout == "closed\n"
    # In its development mode asyncio remarks on whatever takes a tenth of a second, as imports do.
    assert [line for line in ended.stderr.splitlines() if not line.startswith("Executing <")] == []
