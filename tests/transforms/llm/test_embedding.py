"""Embeddings through the model edge: in order, each text once, and what is at fault fails alone."""

import struct

import pytest
from edges import QUICK, edge_and_quota, rows
from openai_answers import vector_of
from openai_server import Faults, OpenAIServer


@pytest.fixture(scope="module")
def embedder():
    """A server shared by tests that count from where they begin."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(embedder):
    embedder.set(faults=Faults(), latency_s=0.0, context_tokens=None, dimension=16)
    embedder.reset()
    return embedder


def embed(edge, texts, model="e"):
    return edge.submit(edge.embed(model, texts, about="some texts")).result(60)


def test_texts_are_embedded_in_order_and_each_once(server, tmp_path):
    texts = [f"text {number % 300}" for number in range(700)]
    with edge_and_quota(server.url, tmp_path) as (edge, quota):
        found = embed(edge, texts)
        assert server.stats().calls == 2  # 300 distinct texts, 256 a call at most
        again = embed(edge, [*reversed(texts), "one more"])
        assert quota.cached_calls == 300
    assert server.stats().calls == 3
    assert [embedded.vector for embedded in found] == [struct.pack("<16f", *vector_of(text, 16)) for text in texts]
    assert [embedded.vector for embedded in again[:-1]] == [embedded.vector for embedded in reversed(found)]
    outcomes = [(row["stage"], row["from_cache"]) for row in rows(tmp_path)]
    assert outcomes == [("embed", False)] * 2 + [("embed", True), ("embed", False)]


def test_a_text_that_is_too_long_fails_alone(server, tmp_path):
    server.set(context_tokens=100)
    texts = [f"text {number}" for number in range(50)]
    texts[17] = "long " * 400
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        found = embed(edge, texts)
        calls = server.stats().calls
        again = embed(edge, texts)
    assert [embedded.outcome for embedded in found] == ["too_long" if number == 17 else "ok" for number in range(50)]
    assert calls <= 2 * 6 + 1  # halved until it is found
    assert again == found
    assert server.stats().calls == calls


@pytest.mark.parametrize(("kind", "calls"), [("short_list", 3), ("not_finite", 3)])
def test_a_vector_that_is_missing_or_garbled_is_asked_for_alone_before_it_is_given_up(server, tmp_path, kind, calls):
    server.set(faults=Faults(marked=(("bad", kind),)))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        found = embed(edge, ["one", "two", "bad", "four"])
    # The last of each list is hit: first 'four', which comes when it is asked for alone; 'bad' never does.
    assert [embedded.outcome for embedded in found] == ["ok", "ok", "ok", "ok"]
    with edge_and_quota(server.url, tmp_path, provider="other") as (edge, _):
        (alone,) = embed(edge, ["bad"])
    assert alone.outcome == "rejected"
    assert "no vector" in alone.detail
    assert server.stats().calls == calls


def test_a_vector_of_another_length_is_rejected(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        assert [embedded.outcome for embedded in embed(edge, ["one"])] == ["ok"]
        server.set(dimension=8)
        found = embed(edge, ["one", "two"])
    assert [embedded.outcome for embedded in found] == ["ok", "rejected"]
    assert found[1].detail == "dimension=8, others 16"


def test_texts_wanted_twice_at_the_same_time_are_embedded_once(server, tmp_path):
    server.set(latency_s=0.1)
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        left = edge.submit(edge.embed("e", ["a", "b", "c"], about=""))
        right = edge.submit(edge.embed("e", ["b", "c", "d"], about=""))
        left, right = left.result(10), right.result(10)
    assert left[1:] == right[:2]
    sent = [text for seen in server.requests() for text in seen.body["input"]]
    assert sorted(sent) == ["a", "b", "c", "d"]


def test_transient_faults_of_embeddings_pass_or_are_told(server, tmp_path):
    server.set(faults=Faults(marked=(("never", "server_error"),)))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        found = embed(edge, ["never", "fine"])
        assert {embedded.outcome for embedded in found} == {"transient"}
        server.set(faults=Faults())
        assert {embedded.outcome for embedded in embed(edge, ["never", "fine"])} == {"ok"}
    assert server.stats().calls == QUICK.attempts + 1


def test_no_text_is_no_call(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        assert embed(edge, []) == []
    assert server.stats().calls == 0


def test_a_server_that_packs_no_vectors_is_asked_for_numbers_from_then_on(server, tmp_path):
    server.set(faults=Faults(marked=(("first", "unprocessable"),)))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        assert embed(edge, ["first"])[0].outcome == "rejected"
        packed = [seen.body.get("encoding_format") for seen in server.requests()]
        assert packed == ["base64", None]  # a refusal may be about the packing
        assert embed(edge, ["fine"])[0].outcome == "ok"
        assert embed(edge, ["first at fault"])[0].outcome == "rejected"
    packed = [seen.body.get("encoding_format") for seen in server.requests()]
    assert packed[2:] == ["base64", "base64"]  # it was about the text, so nothing is tried any more
