"""The model edge on a real server over loopback: what is called, what is kept, what is written down."""

import os
import pickle
import subprocess
import sys
from random import Random

import pytest
from edges import QUICK, SCHEMA, ask, edge_and_quota, embed, request, rows
from openai_server import FATAL, TOO_LONG, TRANSIENT, Faults

from memlake.transforms.llm.edge import EdgeSettings, open_edge
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import quota_server
from memlake.transforms.llm.protocol.model import ModelStoppedError
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.records.prices import load_prices


def test_a_call_is_made_once_and_recorded_each_time(server, tmp_path):
    with edge_and_quota(server.url, tmp_path, cell="c1") as (edge, quota):
        (first,) = ask(edge, request("unicode \U0001f600 {braces} {0}"))
        (again,) = ask(edge, request("unicode \U0001f600 {braces} {0}"))
    assert (first.outcome, first.text, first.from_cache) == ("ok", "unicode \U0001f600 {braces} {0}", False)
    assert (again.text, again.from_cache, again.mode) == (first.text, True, first.mode)
    assert server.stats().calls == 1
    made, cached = rows(tmp_path)
    assert {made[name] for name in ("stage", "provider", "model", "cell", "run_id", "outcome")} == {
        *("extract", "test", "m", "c1", "run-1", "ok")
    }
    assert (made["from_cache"], made["attempt"], made["detail"]) == (False, 0, None)
    assert made["latency_s"] > 0
    assert made["tokens_in"] == first.tokens_in > 0
    assert (cached["from_cache"], cached["attempt"], cached["price_usd"], cached["latency_s"]) == (True, 0, 0.0, None)
    assert made["call_id"] != cached["call_id"]
    assert (quota.paid_calls, quota.cached_calls) == (1, 1)


def test_two_hundred_at_once_keep_to_the_limit_on_one_loop(server, tmp_path):
    server.set(latency_s=0.05)
    with edge_and_quota(server.url, tmp_path, limits=Limits(in_flight=8)) as (edge, _):
        replies = ask(edge, *(request(f"number {number}") for number in range(200)))
    assert [reply.text for reply in replies] == [f"number {number}" for number in range(200)]
    stats = server.stats()
    assert (stats.calls, stats.most_in_flight) == (200, 8)
    assert stats.connections <= 20  # a new loop or client for each call would need hundreds


def test_equal_requests_at_the_same_time_are_one_call(server, tmp_path):
    server.set(latency_s=0.1)
    with edge_and_quota(server.url, tmp_path) as (edge, quota):
        replies = ask(edge, *[request("the same")] * 20)
    assert {reply.text for reply in replies} == {"the same"}
    assert sum(reply.from_cache for reply in replies) == 19
    assert server.stats().calls == 1
    assert len(rows(tmp_path)) == 20
    assert quota.cached_calls == 19


def test_equal_requests_of_two_workers_are_one_call(server, tmp_path):
    server.set(latency_s=0.2)
    with quota_server(Limits(in_flight=16)) as quota:
        both = [
            open_edge(EdgeSettings(str(tmp_path), f"run-{number}", server.url, "test", quota.address, retry=QUICK))
            for number in range(2)
        ]
        try:
            asked = [edge.submit(edge.ask(request("twins"), stage="extract", about="")) for edge in both]
            replies = [future.result(30) for future in asked]
        finally:
            for edge in both:
                edge.close()
    assert [reply.text for reply in replies] == ["twins", "twins"]
    assert sorted(reply.from_cache for reply in replies) == [False, True]
    assert server.stats().calls == 1


def test_a_call_that_cannot_be_kept_is_recorded_all_the_same(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, quota):
        folder = ReplyCache(tmp_path).path(request("n").hash("test")).parent
        folder.parent.mkdir(parents=True)
        folder.symlink_to("nowhere")  # nothing to be read there, and nothing to be written
        with pytest.raises(FileExistsError):
            ask(edge, request("n"))
        assert (quota.attempts, quota.paid_calls) == (1, 1)
    (row,) = rows(tmp_path)
    assert (row["outcome"], row["from_cache"], row["tokens_in"] > 0) == ("ok", False, True)


@pytest.mark.parametrize("kind", TRANSIENT)
def test_what_may_pass_is_tried_again_until_it_has_passed(server, tmp_path, kind):
    server.set(faults=Faults(0.4, (kind,), seed=5))
    retry = RetryPolicy(attempts=12, first_delay_s=0.01, most_delay_s=0.02, budget_s=60)
    with edge_and_quota(server.url, tmp_path, retry=retry) as (edge, _):
        replies = ask(edge, *(request(f"{kind} {number}") for number in range(12)))
    assert [(reply.outcome, reply.text) for reply in replies] == [("ok", f"{kind} {number}") for number in range(12)]
    stats = server.stats()
    assert stats.faults[kind] > 0
    assert stats.calls == 12 + (0 if kind == "slow" else stats.faults[kind])
    recorded = rows(tmp_path)
    assert len(recorded) == stats.calls
    assert [row["outcome"] for row in recorded].count("transient") == stats.calls - 12
    for row in recorded:
        assert (row["outcome"] == "transient") == bool(row["detail"])


def test_a_fault_that_never_passes_ends_within_its_attempts_and_hurts_no_other(server, tmp_path):
    server.set(faults=Faults(marked=(("poison", "rate_limit"),)))
    requests = [request("poison"), *(request(f"fine {number}") for number in range(20))]
    with edge_and_quota(server.url, tmp_path) as (edge, quota):
        poisoned, *others = ask(edge, *requests)
        assert quota.stopped is None
    assert poisoned.outcome == "transient"
    assert "429" in poisoned.detail
    assert {reply.outcome for reply in others} == {"ok"}
    assert server.stats().calls == QUICK.attempts + 20
    attempts = [row["attempt"] for row in rows(tmp_path) if row["outcome"] == "transient"]
    assert attempts == list(range(QUICK.attempts))
    server.set(faults=Faults())
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        replies = ask(edge, *requests)
    assert {reply.outcome for reply in replies} == {"ok"}
    assert server.stats().calls == QUICK.attempts + 21  # only what last failed was asked again


def test_equal_requests_that_fail_together_are_no_hits(server, tmp_path):
    server.set(faults=Faults(marked=(("poison", "rate_limit"),)))
    with edge_and_quota(server.url, tmp_path) as (edge, quota):
        replies = ask(edge, *[request("poison")] * 5)
        assert quota.cached_calls == 0
    assert {(reply.outcome, reply.from_cache) for reply in replies} == {("transient", False)}
    assert [row["outcome"] for row in rows(tmp_path)] == ["transient"] * QUICK.attempts


def test_what_is_begun_ends_before_all_the_others_are_tried(server, tmp_path):
    server.set(faults=Faults(marked=(("poison", "rate_limit"),)), latency_s=0.01)
    retry = RetryPolicy(attempts=4, first_delay_s=0.0, most_delay_s=0.0, budget_s=30.0)
    with edge_and_quota(server.url, tmp_path, retry=retry, limits=Limits(in_flight=1)) as (edge, _):
        ask(edge, request("poison"), *(request(f"fine {number}") for number in range(20)))
    came = ["poison" in str(seen.body) for seen in server.requests()]
    assert (came.count(True), len(came)) == (4, 24)
    assert not any(came[12:])


def test_what_the_server_asks_to_wait_is_waited(server, tmp_path):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    server.set(faults=Faults(marked=(("busy", "rate_limit_after"),)))
    retry = RetryPolicy(attempts=20, first_delay_s=0.0, most_delay_s=0.0, budget_s=60)
    with edge_and_quota(server.url, tmp_path, retry=retry, sleep=sleep, random=Random(1)) as (edge, _):
        (reply,) = ask(edge, request("busy"))
    assert reply.outcome == "transient"
    assert len(waits) == 19
    # 0.05 s as seconds or as milliseconds, or a date up to a second from now.
    assert all(wait == 0.05 or 0 <= wait <= 1 for wait in waits)
    assert waits.count(0.05) > 5
    assert server.stats().calls == 20


def test_a_wait_beyond_the_budget_ends_the_call_at_once(server, tmp_path):
    server.set(faults=Faults(marked=(("busy", "rate_limit_after"),)))
    retry = RetryPolicy(attempts=9, first_delay_s=0.0, budget_s=0.04)
    with edge_and_quota(server.url, tmp_path, retry=retry) as (edge, _):
        (reply,) = ask(edge, request("busy"))
    assert reply.outcome == "transient"
    assert server.stats().calls <= 2


def test_waits_and_calls_are_both_of_the_budget(server, tmp_path):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    server.set(faults=Faults(marked=(("busy", "rate_limit"),)))
    retry = RetryPolicy(attempts=60, first_delay_s=0.5, most_delay_s=0.5, budget_s=2.0)
    with edge_and_quota(server.url, tmp_path, retry=retry, sleep=sleep, random=Random(3)) as (edge, _):
        assert ask(edge, request("busy"))[0].outcome == "transient"
    assert 1 < sum(waits) <= 2
    server.reset()
    server.set(latency_s=0.1)
    retry = RetryPolicy(attempts=60, first_delay_s=0.0, most_delay_s=0.0, budget_s=0.35)
    with edge_and_quota(server.url, tmp_path, retry=retry) as (edge, _):
        assert ask(edge, request("busy too"))[0].outcome == "transient"
    assert 1 <= server.stats().calls <= 4


def test_a_server_that_holds_a_call_is_given_up(server, tmp_path):
    server.set(hold_after=0)
    retry = RetryPolicy(attempts=2, first_delay_s=0.0, most_delay_s=0.0)
    with edge_and_quota(server.url, tmp_path, retry=retry, timeout_s=0.3) as (edge, _):
        (reply,) = ask(edge, request("held"))
    assert (reply.outcome, server.stats().calls) == ("transient", 2)
    assert "no reply within 0.3 s" in reply.detail


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("refusal", "refused"),
        ("content_filter", "filtered"),
        ("cut", "cut"),
        ("rejected", "rejected"),
        ("unprocessable", "rejected"),
        *((kind, "too_long") for kind in TOO_LONG),
    ],
)
def test_what_is_the_items_own_fault_is_an_outcome_and_kept(server, tmp_path, kind, outcome):
    server.set(faults=Faults(marked=(("odd", kind),)))
    with edge_and_quota(server.url, tmp_path) as (edge, quota):
        odd, fine = ask(edge, request("something odd here"), request("fine"))
        calls = server.stats().calls
        (again,) = ask(edge, request("something odd here"))
        assert quota.stopped is None
    assert (odd.outcome, fine.outcome, calls) == (outcome, "ok", 2)
    assert (again.outcome, again.detail, again.text) == (odd.outcome, odd.detail, odd.text)
    assert again.from_cache
    assert odd.detail
    assert (odd.text != "") == (outcome == "cut") or outcome == "filtered"
    assert server.stats().calls == calls


@pytest.mark.parametrize("kind", FATAL)
def test_a_fatal_fault_stops_the_run_at_once_with_its_reason(server, tmp_path, kind):
    server.set(faults=Faults(1.0, (kind,)), latency_s=0.05)
    with edge_and_quota(server.url, tmp_path, limits=Limits(in_flight=4)) as (edge, quota):
        with pytest.raises(ModelStoppedError) as caught:
            ask(edge, *(request(f"{number}") for number in range(50)))
        with pytest.raises(ModelStoppedError) as later:
            ask(edge, request("later"))
        with pytest.raises(ModelStoppedError):
            embed(edge, ["later"])
        assert quota.stopped is not None
        assert quota.stopped.message == caught.value.message == later.value.message
    assert caught.value.code == ("model_quota" if kind == "no_quota" else "model_refused")
    assert "test refuses: HTTP 4" in caught.value.message
    assert caught.value.hint
    assert server.stats().calls <= 4
    # Those under way beside it end as fatal too, or are cancelled when the edge is closed.
    assert {row["outcome"] for row in rows(tmp_path) if row["detail"] != "CancelledError"} == {"fatal"}
    assert 4 >= len(rows(tmp_path)) >= server.stats().calls


def test_a_key_is_used_and_written_nowhere(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    server.set(key="sk-very-secret", faults=Faults(marked=(("hello sk-very", "rejected"),)))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        replies = ask(edge, request("hello"), request("hello sk-very"))
        assert b"secret" not in pickle.dumps(edge._settings)
    assert [reply.outcome for reply in replies] == ["ok", "rejected"]
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"sk-very-secret" not in path.read_bytes()


def test_without_a_key_openai_is_not_called_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with edge_and_quota("https://api.openai.com/v1", tmp_path, provider="api.openai.com") as (edge, quota):
        for attempt in (lambda: ask(edge, request()), lambda: embed(edge, ["x"])):
            with pytest.raises(ModelStoppedError, match="OPENAI_API_KEY is not set") as caught:
                attempt()
            assert caught.value.code == "model_refused"
        assert quota.attempts == 0
    assert rows(tmp_path) == []


def test_what_the_cache_holds_needs_no_key(server, tmp_path, monkeypatch):
    with edge_and_quota(server.url, tmp_path, provider="p") as (edge, _):
        ask(edge, request())
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with edge_and_quota("https://api.openai.com/v1", tmp_path, provider="p") as (edge, _):
        assert ask(edge, request())[0].from_cache


@pytest.mark.parametrize(
    ("refused", "mode", "first_calls"),
    [((), "json_schema", 1), (("no_schema",), "json_object", 2), (("no_schema", "no_json_object"), "text", 3)],
)
def test_the_strictest_form_that_a_server_takes_is_found_once(server, tmp_path, refused, mode, first_calls):
    server.set(script="openai_replies:artifacts", **dict.fromkeys(refused, True))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        (reply,) = ask(edge, request("first", schema=SCHEMA))
        assert (reply.outcome, reply.mode) == ("ok", mode)
        assert server.stats().calls == first_calls
        ask(edge, request("second", schema=SCHEMA), request("third", schema=SCHEMA))
        assert server.stats().calls == first_calls + 2
        (again,) = ask(edge, request("first", schema=SCHEMA))
        (free,) = ask(edge, request("no schema"))
    assert (again.mode, again.from_cache) == (mode, True)
    assert free.mode == "text"
    recorded = rows(tmp_path)
    assert [row["outcome"] for row in recorded[:first_calls]] == ["rejected"] * (first_calls - 1) + ["ok"]
    tried = ["json_schema", "json_object", "text"][:first_calls]
    assert [(row["attempt"], row["mode"]) for row in recorded[:first_calls]] == list(enumerate(tried))


@pytest.mark.parametrize(
    ("refused", "mode"), [({"no_schema": True}, "json_object"), ({"no_json_object": True}, "text")]
)
def test_a_form_that_a_server_takes_no_longer_is_given_up(server, tmp_path, refused, mode):
    server.set(script="openai_replies:artifacts")
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        (first,) = ask(edge, request("n", schema=SCHEMA))
        server.set(**{"no_schema": True, **refused})
        after = [ask(edge, request(f"after {n}", schema=SCHEMA))[0] for n in range(3)]
        server.set(no_schema=False, no_json_object=False)
        (back,) = ask(edge, request("back", schema=SCHEMA))
    assert (first.mode, first.outcome) == ("json_schema", "ok")
    assert [(reply.mode, reply.outcome) for reply in after] == [(mode, "ok")] * 3
    assert back.outcome == "ok"


def test_an_item_at_fault_does_not_cost_the_others_their_form(server, tmp_path):
    server.set(script="openai_replies:artifacts", faults=Faults(marked=(("odd", "unprocessable"),)))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        (odd,) = ask(edge, request("odd", schema=SCHEMA))
        (fine,) = ask(edge, request("fine", schema=SCHEMA))
        calls = server.stats().calls
        (odd_too,) = ask(edge, request("odd too", schema=SCHEMA))
    assert (odd.outcome, odd_too.outcome) == ("rejected", "rejected")
    assert (fine.outcome, fine.mode) == ("ok", "json_schema")
    assert server.stats().calls == calls + 1  # now that the form is known to be taken, no other is tried


def test_what_a_reasoning_model_refuses_is_left_out_from_then_on(server, tmp_path):
    server.set(reasoning=True)
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        (first,) = ask(edge, request("first"))
        assert server.stats().calls == 3
        (second,) = ask(edge, request("second"))
    assert (first.outcome, second.outcome) == ("ok", "ok")
    assert server.stats().calls == 4
    body = server.requests(1)[0].body
    assert body["max_completion_tokens"] == 500
    assert not {"max_tokens", "temperature"} & set(body)


def test_offline_the_cache_alone_answers_and_the_missing_are_named(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        ask(edge, request("known"))
        embed(edge, ["known"])
    calls = server.stats().calls
    with edge_and_quota("http://127.0.0.1:9/v1", tmp_path, offline=True) as (edge, quota):
        known, missing = ask(edge, request("known"), request("unknown"))
        vectors = embed(edge, ["known", "unknown"])
        assert quota.missing_count == 2
        assert quota.missing == ["about unknown", "some texts (1 texts)"]
        assert quota.attempts == 0
    assert (known.outcome, known.from_cache, missing.outcome) == ("ok", True, "missing")
    assert [embedded.outcome for embedded in vectors] == ["ok", "missing"]
    assert server.stats().calls == calls


def test_no_call_is_made_that_could_pass_the_limit_on_cost(server, tmp_path):
    prices = load_prices(None)
    limits = Limits(in_flight=4, max_cost_usd=0.01)
    requests = [request(f"{number} " + "word " * 200, model="gpt-4o", max_tokens=200) for number in range(40)]
    with edge_and_quota(server.url, tmp_path, limits=limits, prices=prices) as (edge, quota):
        with pytest.raises(ModelStoppedError) as caught:
            ask(edge, *requests)
        spent = quota.spent_usd
    assert caught.value.code == "model_cost"
    assert 0 < spent <= 0.01
    assert 0 < server.stats().calls < 40
    recorded = [row for row in rows(tmp_path) if not row["from_cache"]]
    assert sum(row["price_usd"] for row in recorded) == pytest.approx(spent)


def test_a_server_that_is_not_there_stops_the_run(tmp_path):
    retry = RetryPolicy(attempts=4, first_delay_s=0.0, most_delay_s=0.0)
    nobody = edge_and_quota("http://127.0.0.1:9/v1", tmp_path, limits=Limits(in_flight=2), retry=retry)
    with nobody as (edge, _), pytest.raises(ModelStoppedError) as caught:
        ask(edge, *(request(f"{number}") for number in range(30)))
    assert caught.value.code == "model_unreachable"
    assert len(rows(tmp_path)) < 4 * 30


def test_the_edge_is_not_imported_by_the_commands_that_need_none():
    program = "import sys, memlake; print([name for name in sys.modules if re.match('openai|httpx2|jsonschema', name)])"
    ended = subprocess.run([sys.executable, "-c", "import re; " + program], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "[]", ended.stderr


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-\x00nul", "sk-\u00e9t\u00e9", "sk-tab\there"])
def test_a_key_that_no_header_may_hold_stops_the_run_at_once_and_is_repeated_nowhere(
    server, tmp_path, monkeypatch, key
):
    # A copy: a real environment cannot hold the sign that ends a text.
    monkeypatch.setattr(os, "environ", {**os.environ, "OPENAI_API_KEY": key})
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        for attempt in (lambda: ask(edge, request()), lambda: embed(edge, ["x"])):
            with pytest.raises(ModelStoppedError, match="OPENAI_API_KEY holds a sign that no key has") as caught:
                attempt()
            assert caught.value.code == "model_refused"
    assert server.stats().calls == 0
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or key[3:6].encode() not in path.read_bytes()


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path):
    fast = RetryPolicy(attempts=1, first_delay_s=0.001, most_delay_s=0.001, budget_s=1.0)
    with edge_and_quota("http://ana:hidden@127.0.0.1:9/v1", tmp_path, retry=fast) as (edge, _):
        (reply,) = ask(edge, request())
    assert reply.outcome == "transient"
    assert "http://127.0.0.1:9" in reply.detail
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"hidden" not in path.read_bytes()
