"""The driver's side of the models: one set of limits for real workers, the journal of calls, and why a run stopped."""

import asyncio
import base64
import pickle
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from openai_server import OpenAIServer

from memlake.schemas.calls import CALLS
from memlake.transforms.base.errors import JobFailedError, UsageError
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.driver import Models, ModelSettings, open_models, prices_of
from memlake.transforms.llm.edge import open_edge
from memlake.transforms.llm.limits.quota_client import QuotaClient
from memlake.transforms.llm.protocol.model import Message, ModelStoppedError, Request
from memlake.transforms.llm.records.calls import paid

WORKER = """
import asyncio, base64, pickle, sys
from memlake.transforms.llm.edge import open_edge
from memlake.transforms.llm.protocol.model import Message, Request
settings = pickle.loads(base64.b64decode(sys.argv[1]))
edge = open_edge(settings)
async def main():
    asked = [
        edge.ask(Request("gpt-4o-mini", (Message("user", text),), 50), stage="extract", about=text) for text in sys.argv[2:]
    ]
    print("asking", flush=True)
    return [reply.outcome for reply in await asyncio.gather(*asked)]
print(edge.submit(main()).result(), flush=True)
edge.close()
"""


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    return open_lake(str(tmp_path / "lake"), create=True)


def worker(edge, *texts):
    pickled = base64.b64encode(pickle.dumps(edge)).decode()
    return subprocess.Popen([sys.executable, "-c", WORKER, pickled, *texts], stdout=-1, stderr=-1, text=True)


def finished(process):
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()[-1]


def run(lake, run_id, settings, *texts, error=None):
    """Ask for each text in this process, then fail as a pipeline would; return the replies."""
    with open_models(settings, lake, run_id, needed=True) as models:
        edge = open_edge(models.edge)
        try:
            replies = [edge.submit(asked(edge, text)).result(60) for text in texts]
        finally:
            edge.close()
        if error is not None:
            raise error
    return replies


def asked(edge, text):
    return edge.ask(Request("gpt-4o-mini", (Message("user", text),), 50), stage="extract", about=f"turn {text!r}")


def rows(lake):
    return pa.table(lake.open_table(CALLS).to_pyarrow_table()).to_pylist()


def fast(server, **more):
    return ModelSettings(model="gpt-4o-mini", base_url=server.url, **more)


def test_a_run_that_asks_no_model_gets_none_and_needs_nothing(lake):
    with open_models(ModelSettings(base_url="nonsense"), lake, "r", needed=False) as models:
        assert models == Models()
        models.check()
    assert rows(lake) == []


def test_what_workers_asked_is_in_the_table_and_a_second_run_asks_nothing(lake):
    with OpenAIServer() as server:
        with open_models(fast(server), lake, "r1", needed=True) as models:
            workers = [worker(models.edge, "a", "b", "shared"), worker(models.edge, "c", "shared")]
            assert [finished(worker) for worker in workers] == ["['ok', 'ok', 'ok']", "['ok', 'ok']"]
        assert server.stats().calls == 4
        document = paid(lake, "r1")
        assert (document["calls"], document["cached"], document["outcomes"]) == (4, 1, {"ok": 5})
        assert document["price_usd"] > 0
        assert len(run(lake, "r2", fast(server), "a", "b", "c", "shared")) == 4
        assert server.stats().calls == 4
    assert (paid(lake, "r2")["calls"], paid(lake, "r2")["cached"], paid(lake, "r2")["price_usd"]) == (0, 4, 0.0)
    assert {row["provider"] for row in rows(lake)} == {"127.0.0.1"}


def test_a_worker_killed_in_its_calls_gives_its_leave_back_and_its_rows_are_kept(lake):
    with OpenAIServer() as server, open_models(fast(server, max_in_flight=2), lake, "r", needed=True) as models:
        settings = models.edge
        server.set(hold_after=1)
        held = worker(settings, "x", "y", "z")
        while server.stats().calls < 3:
            assert held.poll() is None  # one is answered, two are held at the server, which is all that may be
        held.send_signal(signal.SIGKILL)
        held.communicate()
        server.set(hold_after=None)
        edge = open_edge(settings)
        replies = [edge.submit(asked(edge, text)) for text in ("x", "y", "z")]
        assert [reply.result(60).outcome for reply in replies] == ["ok"] * 3
        edge.close()
        assert server.stats().calls == 5  # those in flight are paid twice, no other
    assert sorted(row["from_cache"] for row in rows(lake)) == [False, False, False, True]
    assert list((lake.staged / "calls").glob("*.jsonl")) == []


def test_why_the_models_stopped_the_run_is_raised_in_place_of_what_the_pipeline_made_of_it(lake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")

    def pipeline(server):
        with open_models(fast(server), lake, "r", needed=True) as models:
            _, err = worker(models.edge, "a").communicate(timeout=60)
            assert "ModelStoppedError" in err
            raise JobFailedError("the pipeline failed: RuntimeError: worker 3")

    with OpenAIServer(key="right") as server:
        with pytest.raises(ModelStoppedError) as caught:
            pipeline(server)
        assert server.stats().calls == 1
    assert caught.value.code == "model_refused"
    assert "OPENAI_API_KEY" in caught.value.hint
    assert isinstance(caught.value.__cause__, JobFailedError)
    assert [row["outcome"] for row in rows(lake)] == ["fatal"]


def test_a_run_that_ends_although_its_models_stopped_it_says_so(lake):
    async def stop(address):
        client = await QuotaClient.connect(address)
        await client.stop("model_unreachable", "the last calls failed", "")
        await client.close()

    def pipeline():
        with open_models(ModelSettings(), lake, "r", needed=True) as models:
            asyncio.run(stop(models.edge.quota))

    with pytest.raises(ModelStoppedError, match="the last calls failed"):
        pipeline()


@pytest.mark.parametrize("error", [JobFailedError("the disk is full"), KeyboardInterrupt()])
def test_what_else_fails_is_raised_as_it_is_and_the_books_are_kept(lake, error):
    with OpenAIServer() as server, pytest.raises(type(error)) as caught:
        run(lake, "r", fast(server), "a", error=error)
    assert caught.value is error
    assert len(rows(lake)) == 1


def test_rows_of_a_worker_that_was_not_closed_are_in_the_table_when_the_run_ends(lake):
    with OpenAIServer() as server:
        with open_models(fast(server), lake, "r", needed=True) as models:
            edge = open_edge(models.edge)
            edge.submit(asked(edge, "a")).result(60)
        assert len(rows(lake)) == 1
        edge.close()
        assert run(lake, "r2", fast(server)) == []
    assert len(rows(lake)) == 1
    assert list((lake.staged / "calls").glob("*.jsonl")) == []


def test_offline_the_cache_answers_and_what_it_lacks_is_named_without_a_server(lake):
    with OpenAIServer() as server:
        (kept,) = run(lake, "r1", fast(server, provider="lab"), "kept")
    offline = ModelSettings(model="gpt-4o-mini", provider="lab", offline=True, max_cost=0.0)
    assert run(lake, "r2", offline, "kept")[0].text == kept.text
    with pytest.raises(ModelStoppedError, match="offline: 12 replies are not in the cache") as caught:
        run(lake, "r3", offline, *(f"{{n}}{number}" for number in range(12)))
    assert caught.value.code == "model_offline"
    assert "of model='gpt-4o-mini' by provider='lab': " in caught.value.message
    assert "--provider" in caught.value.hint
    assert "turn '{n}0'; turn '{n}1'" in caught.value.message
    assert caught.value.message.endswith("turn '{n}9'; and 2 more")
    assert paid(lake, "r3")["outcomes"] == {"missing": 12}
    with pytest.raises(JobFailedError):  # the pipeline failed for a reason of its own
        run(lake, "r4", offline, "new", error=JobFailedError("the disk is full"))


def test_the_cost_limit_stops_the_run_and_the_next_run_takes_it_up(lake, tmp_path):
    prices = tmp_path / "prices.toml"
    # A reply may cost 0.05, having room for 50 tokens at 0.001 each.
    prices.write_text('[[price]]\nmodel="gpt-4o-mini"\nprovider="p"\ninput=0\noutput=1000\nas_of=2026-01-01\n')
    texts = [f"{number}" for number in range(40)]
    with OpenAIServer(replies=[("", "one two three")]) as server:
        with pytest.raises(ModelStoppedError, match=r"max-cost=0\.15 USD") as caught:
            run(lake, "r1", fast(server, max_cost=0.15, prices=str(prices)), *texts)
        assert caught.value.code == "model_cost"
        calls = server.stats().calls
        assert 0 < calls < 40
        assert 0 < paid(lake, "r1")["price_usd"] <= 0.15
        run(lake, "r2", fast(server, prices=str(prices)), *texts)
        assert server.stats().calls == 40
    assert (paid(lake, "r2")["calls"], paid(lake, "r2")["cached"]) == (40 - calls, calls)


def test_a_cost_limit_with_an_unknown_price_is_refused_before_anything_is_asked(lake):
    unknown = ModelSettings(model="llama-3", base_url="http://127.0.0.1:9/v1", max_cost=5.0)
    known = ModelSettings(model="gpt-4o-mini", base_url="http://127.0.0.1:9/v1", max_cost=5.0)
    with pytest.raises(UsageError, match="llama-3"):
        open_models(unknown, lake, "r", needed=True).__enter__()
    with pytest.raises(UsageError, match="other"):
        open_models(known, lake, "r", needed=True, models=("other",)).__enter__()


@pytest.mark.parametrize(
    ("settings", "server", "provider"),
    [
        (ModelSettings(), "https://api.openai.com/v1", "api.openai.com"),
        (ModelSettings(base_url="http://LOCALHOST:8000/v1"), "http://LOCALHOST:8000/v1", "localhost"),
        (ModelSettings(base_url="http://[::1]:80/v1", provider="mine"), "http://[::1]:80/v1", "mine"),
    ],
)
def test_the_provider_is_the_servers_host_unless_it_is_named(settings, server, provider, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert (settings.server, settings.provider_name) == (server, provider)


def test_the_environment_names_the_server_where_the_settings_do_not(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gpu.example:8000/v1")
    assert ModelSettings().provider_name == "gpu.example"
    assert ModelSettings(base_url="http://other/v1").server == "http://other/v1"


NO_ADDRESSES = [
    *("localhost:8000", "file:///etc", "http://", "//x", "http://:80/"),
    *("http://x:99999/v1", "http://x:-1/v1", "http://x:0/v1", "http://x:port/v1", "http://[::1/v1"),
]


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_an_address_that_is_none_is_refused_with_the_name_of_where_it_stands(address, monkeypatch):
    with pytest.raises(UsageError, match="base-url"):
        _ = ModelSettings(base_url=address).server
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        _ = ModelSettings().server


def test_limits_and_prices_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="max-in-flight=0"):
        _ = ModelSettings(max_in_flight=0).limits
    with pytest.raises(UsageError, match="cannot be read"):
        prices_of(ModelSettings(prices="/none.toml"))
