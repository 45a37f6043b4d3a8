"""The quota over the wire: one limit for real processes, whatever becomes of them."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.llm.limits import quota as quotas
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_client import QuotaClient
from memlake.transforms.llm.limits.quota_server import quota_server
from memlake.transforms.llm.protocol.model import ModelStoppedError

# Each worker writes '+' when it has leave and '-' before it gives it back, into one file that all append to.
WORKER = """
import asyncio, os, sys
from memlake.transforms.llm.limits.quota_client import QuotaClient
address, seen, calls = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND), int(sys.argv[3])
async def call(client):
    grant = await client.acquire(tokens=1, price_usd=0.001)
    os.write(seen, b"+")
    await asyncio.sleep(0.002)
    os.write(seen, b"-")
    await client.release(grant, tokens=1, price_usd=0.001, outcome="ok")
async def main():
    client = await QuotaClient.connect(address)
    await asyncio.gather(*(call(client) for _ in range(calls)))
    await client.counted(cached=7)
    await client.close()
asyncio.run(main())
"""
HOLDER = """
import asyncio, sys
from memlake.transforms.llm.limits.quota_client import QuotaClient
async def main():
    client = await QuotaClient.connect(sys.argv[1])
    for _ in range(2):
        await client.acquire(tokens=1, price_usd=0.5)
    waiting = asyncio.ensure_future(client.acquire(tokens=1, price_usd=0.5))
    await asyncio.sleep(0)
    print("held", flush=True)
    await waiting
asyncio.run(main())
"""


def run(script, *arguments, **more):
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], **more)


def test_the_limit_holds_over_three_processes(tmp_path):
    seen = tmp_path / "seen"
    seen.touch()
    with quota_server(Limits(in_flight=5)) as server:
        workers = [run(WORKER, server.address, seen, 60) for _ in range(3)]
        assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    most = now = 0
    for sign in seen.read_text():
        now += 1 if sign == "+" else -1
        most = max(most, now)
    assert (now, len(seen.read_text())) == (0, 360)
    assert most <= 5
    assert server.most_in_flight == 5
    assert (server.paid_calls, server.attempts, server.cached_calls) == (180, 180, 21)
    assert server.spent_usd == pytest.approx(0.18)


def test_a_killed_worker_gives_back_what_it_held_and_its_place_in_the_queue():
    async def take(address):
        client = await QuotaClient.connect(address)
        waiting = asyncio.ensure_future(client.acquire(tokens=1, price_usd=0.0))
        holder.send_signal(signal.SIGKILL)
        grant = await asyncio.wait_for(waiting, 20)
        await client.release(grant, tokens=1, price_usd=0.0, outcome="ok")
        await client.close()

    with quota_server(Limits(in_flight=2)) as server:
        holder = run(HOLDER, server.address, stdout=subprocess.PIPE)
        assert holder.stdout.readline() == b"held\n"
        asyncio.run(take(server.address))
        holder.wait()
        holder.stdout.close()
    assert server.paid_calls == 1


def test_a_stop_reaches_those_who_wait_everywhere_and_those_who_come_later():
    async def main(address):
        first, second = await QuotaClient.connect(address), await QuotaClient.connect(address)
        grant = await first.acquire(tokens=1, price_usd=0.0)
        waiting = [asyncio.ensure_future(second.acquire(tokens=1, price_usd=0.0)) for _ in range(3)]
        await second.missing("so that the server has read what came before")
        reason = await first.stop("model_refused", "the key {is} bad\nsecond line", "set OPENAI_API_KEY")
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert len({id(error) for error in ended}) == 3
        later = await QuotaClient.connect(address)
        for client in (first, second, later):
            with pytest.raises(ModelStoppedError):
                await client.acquire(tokens=1, price_usd=0.0)
        assert (await later.stop("model_quota", "too late", "")).code == "model_refused"
        await first.release(grant, tokens=1, price_usd=0.125, outcome="ok")  # it was under way: still counted
        for client in (first, second, later):
            await client.close()
        return [reason, *ended]

    with quota_server(Limits(in_flight=1)) as server:
        errors = asyncio.run(main(server.address))
    assert {(error.code, error.message, error.hint) for error in errors} == {
        ("model_refused", "the key {is} bad\nsecond line", "set OPENAI_API_KEY")
    }
    assert server.stopped.code == "model_refused"
    assert server.spent_usd == 0.125


def test_a_caller_that_is_cancelled_leaves_the_queue_or_gives_its_leave_back():
    async def main(address):
        client = await QuotaClient.connect(address)
        held = await client.acquire(tokens=1, price_usd=0.0)
        queued = asyncio.ensure_future(client.acquire(tokens=1, price_usd=0.0))
        await client.missing("x")  # the server has read the acquire
        queued.cancel()
        last = asyncio.ensure_future(client.acquire(tokens=1, price_usd=0.0))
        await client.missing("y")
        await client.release(held, tokens=1, price_usd=0.0, outcome="ok")
        grant = await last
        await client.release(grant, tokens=1, price_usd=0.0, outcome="ok")
        # Cancelled with the grant on its way: what is given back is what the server gave.
        racing = asyncio.ensure_future(client.acquire(tokens=1, price_usd=0.0))
        await asyncio.sleep(0)
        racing.cancel()
        final = await client.acquire(tokens=1, price_usd=0.0)
        await client.release(final, tokens=1, price_usd=0.0, outcome="ok")
        await client.close()

    with quota_server(Limits(in_flight=1)) as server:
        asyncio.run(asyncio.wait_for(main(server.address), 20))
    assert server.paid_calls == 3
    assert server.most_in_flight == 1


def test_a_window_opens_by_itself(monkeypatch):
    monkeypatch.setattr(quotas, "WINDOW_S", 0.15)

    async def main(address):
        client = await QuotaClient.connect(address)
        began = time.monotonic()
        for _ in range(5):
            grant = await client.acquire(tokens=1, price_usd=0.0)
            await client.release(grant, tokens=1, price_usd=0.0, outcome="ok")
        await client.close()
        return time.monotonic() - began

    with quota_server(Limits(requests_per_minute=2)) as server:
        assert asyncio.run(asyncio.wait_for(main(server.address), 20)) >= 0.3


@pytest.mark.parametrize(
    "line",
    [
        b'["hello", 0, "wrong"]\n',
        b'["acquire", 0, 1, 0.0, false]\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\x00\n",
        b"{}\n",
        b"x" * 70_000,
    ],
)
def test_a_stranger_is_hung_up_on_and_changes_nothing(line):
    with quota_server(Limits(in_flight=1)) as server:
        host, port = server.address.partition("/")[0].split(":")
        assert host == "127.0.0.1"  # nobody on another machine gets so far
        with socket.create_connection((host, int(port)), timeout=10) as stranger:
            stranger.sendall(line)
            with suppress(ConnectionResetError):
                assert stranger.recv(100) == b""
        assert (server.attempts, server.missing_count, server.stopped) == (0, 0, None)


def test_a_message_that_is_none_ends_the_connection_and_gives_back_what_it_held():
    async def main(address):
        bad, good = await QuotaClient.connect(address), await QuotaClient.connect(address)
        await bad.acquire(tokens=1, price_usd=0.0)
        waiting = asyncio.ensure_future(good.acquire(tokens=1, price_usd=0.0))
        with pytest.raises(MemlakeError, match="gone"):
            await bad._request("release", 12345, 1, 0.0, "ok", "")  # a number that it does not hold
        grant = await waiting
        await good.release(grant, tokens=1, price_usd=0.0, outcome="ok")
        await good.close()
        await bad.close()

    with quota_server(Limits(in_flight=1)) as server:
        asyncio.run(asyncio.wait_for(main(server.address), 20))
    assert server.paid_calls == 1


def test_when_the_driver_ends_whoever_waits_is_told_without_the_secret():
    async def main():
        with quota_server(Limits(in_flight=1)) as server:
            client = await QuotaClient.connect(server.address)
            await client.acquire(tokens=1, price_usd=0.0)
            waiting = asyncio.ensure_future(client.acquire(tokens=1, price_usd=0.0))
            await client.missing("x")
            token = server.address.partition("/")[2]
        later = client.acquire(tokens=1, price_usd=0.0), client.missing("y")
        errors = await asyncio.gather(waiting, *later, return_exceptions=True)
        assert all(type(error) is MemlakeError and token not in str(error) for error in errors)
        for call in (client.acquire(tokens=1, price_usd=0.0), client.missing("z"), client.counted(cached=1)):
            with pytest.raises(MemlakeError, match="is gone"):  # at once, and no wait for an answer
                await call
        await client.close()
        with pytest.raises(MemlakeError, match="is gone"):
            await QuotaClient.connect(server.address)

    asyncio.run(asyncio.wait_for(main(), 20))


def test_what_is_tried_again_goes_before_what_was_not_tried_yet():
    async def main(address):
        client, ended = await QuotaClient.connect(address), []

        async def call(name, *, again):
            grant = await client.acquire(tokens=1, price_usd=0.0, again=again)
            ended.append(name)
            await client.release(grant, tokens=1, price_usd=0.0, outcome="ok")

        held = await client.acquire(tokens=1, price_usd=0.0)
        calls = [asyncio.ensure_future(call(name, again=name == "again")) for name in ("first", "second", "again")]
        await client.missing("so that the server has read what came before")
        await client.release(held, tokens=1, price_usd=0.0, outcome="ok")
        await asyncio.gather(*calls)
        await client.close()
        return ended

    with quota_server(Limits(in_flight=1)) as server:
        assert asyncio.run(asyncio.wait_for(main(server.address), 20)) == ["again", "first", "second"]


def test_messages_are_put_together_however_they_are_cut_on_their_way():
    async def main(address):
        client = await QuotaClient.connect(address)
        for sign in b'["stopped", "model_cost", "it is spent", "more"]\n["ok", 99]\n["refu':
            client.data_received(bytes([sign]))
        assert (client.stopped.code, client.stopped.message) == ("model_cost", "it is spent")
        await client.close()

    with quota_server(Limits()) as server:
        asyncio.run(asyncio.wait_for(main(server.address), 20))
        place, _, token = server.address.partition("/")
        host, port = place.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as slow:
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for sign in f'["hello", 7, "{token}"]\n["missing", 8, "x"]\n'.encode():
                slow.send(bytes([sign]))
            with slow.makefile() as lines:
                assert [json.loads(lines.readline()) for _ in range(2)] == [["ok", 7], ["ok", 8]]
    assert server.missing_count == 1


def test_what_a_server_said_at_length_is_cut_on_its_way_and_hangs_up_on_nobody():
    async def main(address):
        client = await QuotaClient.connect(address)
        grant = await client.acquire(tokens=1, price_usd=0.0)
        await client.release(grant, tokens=1, price_usd=0.0, outcome="refused", detail="no " * 100_000)
        await client.stop("model_refused", "no " * 100_000, "")
        await client.close()

    with quota_server(Limits()) as server:
        asyncio.run(asyncio.wait_for(main(server.address), 20))
    assert (server.paid_calls, server.stopped.code) == (1, "model_refused")


def test_the_first_things_that_are_missing_are_named_and_all_are_counted():
    async def main(address):
        client = await QuotaClient.connect(address)
        for number in range(25):
            await client.missing(f"conversation 'c\u2028{number}' {{x}} \ud800" + "y" * 100_000)
        await client.close()

    with quota_server(Limits()) as server:
        asyncio.run(main(server.address))
    assert server.missing_count == 25
    assert [json.dumps(about[:20]) for about in server.missing] == [
        json.dumps(f"conversation 'c\u2028{number}' {{x}}"[:20]) for number in range(10)
    ]
