"""Two runs on one lake: what one of them asks the other waits for, unless it is killed."""

import os
import subprocess
import sys
import time

import pytest
from edges import job, request, rows
from openai_server import OpenAIServer


@pytest.fixture
def server():
    with OpenAIServer(script="openai_replies:echo") as server:
        yield server


RUN_OF_ITS_OWN = """
import asyncio, sys
from pathlib import Path
from edges import job, request
from memlake.transforms.llm.limits.quota import Limits
async def all_of_them(edge):
    asked = (edge.ask(request(f"n {n}"), stage="extract", about="x") for n in range(30))
    return [reply.text for reply in await asyncio.gather(*asked)]
with job(sys.argv[1], Path(sys.argv[2]), limits=Limits(in_flight=2), run_id=sys.argv[3]) as (edge, quota):
    print(edge.submit(all_of_them(edge)).result(60) == [f"n {n}" for n in range(30)], flush=True)
"""


def run(server, root, name):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", RUN_OF_ITS_OWN, server.url, str(root), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_runs_on_one_lake_at_once_pay_each_request_once(server, tmp_path):
    server.set(latency_s=0.02)
    both = [run(server, tmp_path, name) for name in ("a", "b")]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == ["True", "True"]
    assert server.stats().calls == 30
    booked = [row["from_cache"] for row in rows(tmp_path)]
    assert (len(booked), sum(booked)) == (60, 30)


def test_a_killed_run_s_requests_are_asked_by_the_one_that_waits_for_them(server, tmp_path):
    server.set(hold_after=0)
    killed = run(server, tmp_path, "killed")
    try:
        deadline = time.monotonic() + 30
        while server.stats().calls < 2 and time.monotonic() < deadline:
            pass
        with job(server.url, tmp_path) as (edge, _):
            waiting = edge.submit(edge.ask(request("n 0"), stage="extract", about="x"))
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
            assert server.stats().calls == 2
            server.set(hold_after=None)
            killed.kill()
            assert waiting.result(30).text == "n 0"
    finally:
        killed.kill()
        killed.communicate()
