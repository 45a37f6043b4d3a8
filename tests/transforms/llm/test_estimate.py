"""Estimates: what is in the cache is free, the rest has a range, and an unknown price is no price."""

import json

import pytest

from memlake.transforms.llm.estimate import Estimate, estimate
from memlake.transforms.llm.protocol.model import Message, Reply, Request
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.records.prices import load_prices
from memlake.transforms.text.token_counts import TokenCounter, find_counter

WORDS = TokenCounter("words", lambda text: len(text.split()))


def ask(text, *, model="gpt-4o-mini", room=1000, schema=""):
    return Request(model, (Message("system", "one two three"), Message("user", text)), room, schema)


def priced(requests, tmp_path, *, provider="p"):
    return estimate(requests, WORDS, load_prices(), ReplyCache(tmp_path), provider=provider)


def test_calls_tokens_and_price_are_those_of_the_requests(tmp_path):
    found = priced([ask("four five"), ask("six", schema='{"a": 1}'), ask("four five")], tmp_path)
    # Each: 3 system words, its own, 2 messages of 4 and 3 a request; the schema is sent too.
    assert (found.calls, found.cached) == (2, 0)
    assert found.tokens_in == (3 + 2 + 11) + (3 + 1 + 2 + 11)
    assert (found.tokens_out_low, found.tokens_out_high) == (200, 2000)
    assert found.price_low == pytest.approx((33 * 0.15 + 200 * 0.60) / 1e6)
    assert found.price_high == pytest.approx((33 * 0.15 + 2000 * 0.60) / 1e6)
    assert found.tokeniser == "words"
    assert "second pass" in found.note


def test_what_the_cache_answers_costs_nothing_even_when_it_was_a_refusal(tmp_path):
    cache = ReplyCache(tmp_path)
    kept = ask("kept")
    cache.put(Reply(kept.hash("p"), "refused"), request=kept, provider="p", about="")
    found = priced([kept, ask("new")], tmp_path)
    assert (found.calls, found.cached, found.tokens_in) == (1, 1, 15)
    assert priced([kept], tmp_path).price_high == 0.0
    assert priced([kept], tmp_path, provider="another").calls == 1
    cache.path(kept.hash("p")).write_bytes(b"")  # broken: it will be paid again
    assert priced([kept], tmp_path).calls == 1


def test_an_unknown_price_is_null_and_names_the_model(tmp_path):
    found = priced([ask("a"), ask("b", model="llama-3")], tmp_path)
    assert found.price_low is found.price_high is None
    assert found.unpriced == ("llama-3",)
    assert found.calls == 2


def test_estimates_add_up_and_stand_in_json(tmp_path):
    first, second = priced([ask("a")], tmp_path), priced([ask("b c")], tmp_path)
    assert Estimate.nothing("words") + first + second == priced([ask("a"), ask("b c")], tmp_path)
    assert (first + priced([ask("x", model="?")], tmp_path)).price_low is None
    unknown = [priced([ask("x", model=model)], tmp_path) for model in ("?", "!", "?")]
    assert (first + unknown[0] + unknown[1] + unknown[2] + second).unpriced == ("!", "?")
    document = json.loads(json.dumps((first + second).document()))
    assert document["calls"] == 2
    assert document["unpriced"] == []
    assert document["price_high"] == round((first + second).price_high, 6)


def test_hostile_text_is_counted_like_any_other(tmp_path):
    requests = [ask("{0} %s </s> \ud800 \x00"), ask(""), ask("猫" * 500)]
    found = estimate(requests, find_counter(), load_prices(), ReplyCache(tmp_path), provider="p")
    assert found.calls == 3
    assert found.tokens_in > 500
