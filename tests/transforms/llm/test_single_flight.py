"""Single flight: what tasks, edges, processes and runs want at once is paid once, and none of them can spoil it for others."""

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from edges import edge_and_quota, request, rows
from openai_server import OpenAIServer

from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import quota_server
from memlake.transforms.llm.protocol.model import ModelStoppedError
from memlake.transforms.llm.single_flight import SingleFlight

NAME, OTHER = "ab" * 16, "cd" * 16


def many(root, *makers, cancel=()):
    """What came of as many tasks that want one result, some of which are cancelled while it is made; and who made it."""

    async def main():
        flights, made, going = SingleFlight(root, asyncio.sleep), [], asyncio.Event()

        async def make(number):
            made.append(number)
            await going.wait()
            for _ in range(5):  # as long as it takes the others to look
                await asyncio.sleep(0)
            return {"x": makers[number]()}

        async def result(number):
            results, mine = await flights.results(["x"], lambda _: make(number), lambda _: None)
            return results["x"], bool(mine)

        tasks = [asyncio.create_task(result(number)) for number in range(len(makers))]
        await asyncio.sleep(0)
        for number in cancel:
            tasks[number].cancel()
        await asyncio.sleep(0)
        going.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        flights.close()
        return ended, made, flights._under_way

    return asyncio.run(asyncio.wait_for(main(), 10))


def value():
    return "value"


def fault():
    raise KeyError("fault")


def test_one_task_makes_it_and_all_have_it(tmp_path):
    ended, made, left = many(tmp_path, value, value, value)
    assert ended == [("value", True), ("value", False), ("value", False)]
    assert (made, left) == ([0], {})


@pytest.mark.parametrize("cancel", [[1], [2], [1, 3]])
def test_a_task_that_waits_may_be_cancelled_without_harm_to_the_others(tmp_path, cancel):
    ended, made, left = many(tmp_path, value, value, value, value, cancel=cancel)
    assert (made, left) == ([0], {})
    for number, result in enumerate(ended):
        assert isinstance(result, asyncio.CancelledError) if number in cancel else result == ("value", number == 0)


def test_where_the_task_that_makes_it_is_cancelled_or_fails_another_does(tmp_path):
    ended, made, left = many(tmp_path, value, value, value, cancel=[0])
    assert isinstance(ended[0], asyncio.CancelledError)
    assert sorted(ended[1:]) == [("value", False), ("value", True)]
    assert (len(made), left) == (2, {})
    ended, made, left = many(tmp_path, fault, value, fault, value)
    assert isinstance(ended[0], KeyError)
    assert sorted(map(str, ended[1:])) == ["('value', False)", "('value', False)", "('value', True)"]
    assert (made, left) == ([0, 1], {})


def test_tasks_that_want_some_of_the_same_make_each_result_once_and_find_what_was_kept_before_a_failure(tmp_path):
    async def main():
        flights, made, kept = SingleFlight(tmp_path, asyncio.sleep), [], {}

        async def make(names):
            made.append("".join(names))
            await asyncio.sleep(0)
            if names == ["a", "b"]:
                kept["a"] = "A"  # paid and kept before the other failed
                raise KeyError("fault")
            return {name: name.upper() for name in names}

        wanted = ["ab", "abc", "cd"]
        tasks = [asyncio.create_task(flights.results(list(names), make, kept.get)) for names in wanted]
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        flights.close()
        return ended, made

    (failed, *ended), made = asyncio.run(asyncio.wait_for(main(), 10))
    assert isinstance(failed, KeyError)
    assert ended == [({"a": "A", "b": "B", "c": "C"}, {"b", "c"}), ({"c": "C", "d": "D"}, {"d"})]
    assert made == ["ab", "c", "d", "b"]


async def give_up(_):
    raise TimeoutError


def may_hold(flights, name=NAME, then=lambda: True):
    """What `then` gives while an edge holds a request; False where it would have to wait for it."""

    async def main():
        async with flights.alone(name):
            return then()

    try:
        return asyncio.run(main())
    except TimeoutError:
        return False


HOLDER = """
import asyncio, os, sys
from pathlib import Path
from memlake.transforms.llm.single_flight import SingleFlight
async def give_up(_):
    print("waits", flush=True)
    os._exit(0)
async def main():
    async with SingleFlight(Path(sys.argv[1]), give_up).alone(sys.argv[2]):
        child = os.fork() if sys.argv[3:] else None
        if child == 0:
            SingleFlight(Path(sys.argv[1]), give_up)
            sys.stdin.read()  # outlives the parent
            os._exit(0)
        print("holds", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


def program(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def elsewhere(root, name=NAME):
    """What another process does that wants a request: it holds it, or it waits."""
    process = program(HOLDER, root, name)
    said = process.stdout.readline().strip()
    process.communicate("", timeout=30)
    return said


def test_edges_of_one_process_wait_for_each_other_and_one_that_closes_frees_nothing_of_the_others(tmp_path):
    first, second, third = (SingleFlight(tmp_path, give_up) for _ in range(3))
    other_lake = SingleFlight(tmp_path / "another-lake", give_up)

    def while_first_holds():
        third.close()
        with ThreadPoolExecutor(1) as pool:  # an event loop of its own
            here = [pool.submit(may_hold, *asked).result(30) for asked in ((second,), (second, OTHER), (other_lake,))]
        return here, elsewhere(tmp_path), elsewhere(tmp_path, OTHER)

    assert may_hold(first, then=while_first_holds) == ([False, True, True], "waits", "holds")
    assert (may_hold(second), elsewhere(tmp_path)) == (True, "holds")
    for flights in (first, second, other_lake):
        flights.close()


@pytest.mark.parametrize("fork", [(), ("fork",)])
def test_a_killed_process_holds_nothing_though_a_child_of_it_lives_on(tmp_path, fork):
    flights = SingleFlight(tmp_path, give_up)
    holder = program(HOLDER, tmp_path, NAME, *fork)
    assert holder.stdout.readline() == "holds\n"
    assert not may_hold(flights)
    assert may_hold(flights, OTHER)
    holder.kill()
    holder.wait()
    assert may_hold(flights)
    holder.communicate("", timeout=30)
    flights.close()


@pytest.fixture
def server():
    with OpenAIServer(script="openai_replies:echo") as server:
        yield server


ASK_THIRTY = """
import asyncio
from edges import edge_and_quota, request
async def all_of_them(edge):
    asked = (edge.ask(request(f"n {n}"), stage="extract", about="x") for n in range(30))
    return [reply.text for reply in await asyncio.gather(*asked)] == [f"n {n}" for n in range(30)]
"""
RUN_OF_ITS_OWN = (
    ASK_THIRTY
    + """
import sys
from pathlib import Path
from memlake.transforms.llm.limits.quota import Limits
with edge_and_quota(sys.argv[1], Path(sys.argv[2]), limits=Limits(in_flight=2), run_id=sys.argv[3]) as (edge, quota):
    print(edge.submit(all_of_them(edge)).result(60), flush=True)
"""
)
WORKER_OF_A_JOB = (
    ASK_THIRTY
    + """
import sys
from edges import QUICK
from memlake.transforms.llm.edge import EdgeSettings, open_edge
edge = open_edge(EdgeSettings(sys.argv[2], "run-1", sys.argv[1], "test", sys.argv[3], retry=QUICK))
print(edge.submit(all_of_them(edge)).result(60), flush=True)
edge.close()
"""
)


def both_paid_once(server, root, processes):
    assert [process.communicate(timeout=60)[0].strip() for process in processes] == ["True", "True"]
    assert server.stats().calls == 30
    recorded = [row["from_cache"] for row in rows(root)]
    assert (len(recorded), sum(recorded)) == (60, 30)


def test_two_runs_on_one_lake_at_once_pay_each_request_once(server, tmp_path):
    server.set(latency_s=0.02)
    both_paid_once(server, tmp_path, [program(RUN_OF_ITS_OWN, server.url, tmp_path, name) for name in ("a", "b")])


def test_two_workers_of_one_job_pay_each_request_once(server, tmp_path):
    server.set(latency_s=0.02)
    with quota_server(Limits(in_flight=2)) as quota:
        workers = [program(WORKER_OF_A_JOB, server.url, tmp_path, quota.address) for _ in range(2)]
        both_paid_once(server, tmp_path, workers)
        assert (quota.paid_calls, quota.cached_calls) == (30, 30)


def test_a_killed_run_s_requests_are_asked_by_the_one_that_waits_for_them(server, tmp_path):
    server.set(hold_after=0)
    killed = program(RUN_OF_ITS_OWN, server.url, tmp_path, "killed")
    try:
        deadline = time.monotonic() + 30
        while server.stats().calls < 2 and time.monotonic() < deadline:
            pass
        with edge_and_quota(server.url, tmp_path) as (edge, _):
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


def test_a_run_that_is_stopped_waits_no_longer_for_what_another_run_asks(server, tmp_path):
    flights = SingleFlight(tmp_path, give_up)

    def stopped_while_it_waits():
        with edge_and_quota(server.url, tmp_path) as (edge, _):
            waiting = edge.submit(edge.ask(request("n"), stage="extract", about="x"))
            edge.submit(edge._caller.quota.stop("model_refused", "a bad key", "")).result(30)
            with pytest.raises(ModelStoppedError, match="a bad key"):
                waiting.result(30)
        return True

    assert may_hold(flights, request("n").hash("test"), stopped_while_it_waits)
    flights.close()
    assert server.stats().calls == 0
