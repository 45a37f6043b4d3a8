"""The reply cache: what is put comes back to the character, once, whatever becomes of the files."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.llm.protocol.model import Embedded, Message, Reply, Request
from memlake.transforms.llm.records.cache import ReplyCache, embedding_hash

REQUEST = Request("m", (Message("system", "You {extract}."), Message("user", "Ann: I got a cat \ud800.")), 100, seed=7)
HASH = REQUEST.hash("p")
REPLY = Reply(HASH, "ok", 'caf\u00e9 {0} \u2028 \x00 "\\" \ud83d', "", "json_schema", 12, 3, 0)
VECTOR = np.array([0.5, -1.0, 3.25e-12], "<f4").tobytes()


@pytest.fixture
def cache(tmp_path):
    return ReplyCache(tmp_path)


def put(cache, reply=REPLY):
    return cache.put(reply, request=REQUEST, provider="p", about="conversation 'c'")


def put_vector(cache, embedded, text="a cat"):
    name = embedding_hash("p", "e", text)
    put = cache.put_vector(name, embedded, model="e", provider="p", text=text, about="unit 1", tokens=2)
    return name, put


def test_a_reply_comes_back_as_it_was_put_and_says_that_it_was_kept(cache):
    assert cache.get(HASH) is None
    assert put(cache)
    assert cache.get(HASH) == replace(REPLY, from_cache=True)


@given(
    st.text(),
    st.text(),
    st.sampled_from(["ok", "cut", "refused", "filtered", "too_long", "rejected"]),
    st.sampled_from(["json_schema", "json_object", "text", ""]),
    st.one_of(st.none(), st.integers(0, 10**9)),
)
def test_any_text_and_outcome_comes_back(tmp_path_factory, text, detail, outcome, mode, tokens):
    cache = ReplyCache(tmp_path_factory.mktemp("lake"))
    reply = Reply(HASH, outcome, text, detail, mode, tokens, tokens, tokens)
    assert put(cache, reply)
    assert cache.get(HASH) == replace(reply, from_cache=True)


def test_an_entry_tells_everything_about_the_call(cache):
    put(cache)
    entry = json.loads(cache.path(HASH).read_text())
    assert entry["request"]["messages"][1] == {"role": "user", "content": REQUEST.messages[1].content}
    assert (entry["request"]["seed"], entry["model"], entry["provider"]) == (7, "m", "p")
    assert (entry["text"], entry["about"], entry["mode"]) == (REPLY.text, "conversation 'c'", "json_schema")
    assert entry["put_at"].startswith("20")


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"messages": REQUEST.messages[:1]},
        {"messages": REQUEST.messages[::-1]},
        {"messages": (replace(REQUEST.messages[0], role="user"), REQUEST.messages[1])},
        {"max_tokens": 101},
        {"temperature": 0.5},
        {"seed": 8},
        {"seed": None},
        {"schema": "{}"},
    ],
)
def test_whatever_is_asked_otherwise_is_another_request(change):
    assert replace(REQUEST, **change).hash("p") != HASH == replace(REQUEST).hash("p")


def test_what_another_provider_or_model_said_is_not_found_again(cache):
    put(cache)
    assert cache.get(REQUEST.hash("another")) is None
    name, _ = put_vector(cache, Embedded("ok", VECTOR))
    assert cache.get_vector(name) is not None
    for other in (("q", "e", "a cat"), ("p", "f", "a cat"), ("p", "e", "a dog"), ("e", "p", "a cat")):
        assert cache.get_vector(embedding_hash(*other)) is None


def test_how_a_schema_is_called_on_the_wire_makes_no_other_request():
    assert replace(REQUEST, schema_name="other").hash("p") == HASH


def test_the_first_reply_counts(cache):
    assert put(cache)
    assert not put(cache, replace(REPLY, text="another"))
    assert cache.get(HASH).text == REPLY.text


@pytest.mark.parametrize("outcome", ["transient", "missing", "fatal", ""])
def test_what_may_pass_is_never_kept(cache, outcome):
    with pytest.raises(ValueError, match="is not kept"):
        put(cache, replace(REPLY, outcome=outcome))
    with pytest.raises(ValueError, match="is not kept"):
        put_vector(cache, Embedded(outcome))
    assert cache.get(HASH) is None


def test_a_reply_to_another_request_is_refused(cache):
    with pytest.raises(ValueError, match="does not answer"):
        cache.put(REPLY, request=REQUEST, provider="another", about="")
    with pytest.raises(ValueError, match="is not that of the text"):
        cache.put_vector(
            embedding_hash("p", "e", "x"), Embedded("ok", VECTOR), model="e", provider="p", text="y", about=""
        )


def broken(whole):
    fields = json.loads(whole)
    yield b""
    yield whole[: len(whole) // 2]
    yield whole[:-1]
    yield b"\x00" * len(whole)
    yield whole.replace(b"mode", b"\xff\xfe")
    yield b"[]"
    yield b'"text"'
    yield b"null"
    yield b"[" * 100_000
    for change in (
        {"version": 2},
        {"kind": "other"},
        {"request_hash": "0" * 32},
        {"outcome": "transient"},
        {"outcome": ["ok"]},
        {"text": None},
        {"vector": None},
        {"vector": "AAA"},
        {"vector": "AAAA"},
        {"vector": ""},
        {"mode": "xml"},
        {"tokens_in": "12"},
        {"tokens_in": True},
        {"detail": 1},
    ):
        if change.keys() <= fields.keys() | {"tokens_in"}:
            yield json.dumps({**fields, **change}).encode()


def test_a_broken_reply_is_as_good_as_none_and_the_next_one_takes_its_place(cache):
    put(cache)
    path = cache.path(HASH)
    whole = path.read_bytes()
    for number, content in enumerate(broken(whole)):
        path.write_bytes(content)
        assert cache.get(HASH) is None, content
        assert put(cache, replace(REPLY, text=f"{number}")), content
        assert cache.get(HASH).text == f"{number}"


def test_an_entry_of_another_request_under_this_hash_is_as_good_as_none(cache):
    put(cache)
    whole = json.loads(cache.path(HASH).read_bytes())
    for field, value in {"model": "x", "max_tokens": 1, "seed": 8, "schema": "{}", "messages": [], "more": 1}.items():
        cache.path(HASH).write_text(json.dumps({**whole, "request": {**whole["request"], field: value}}))
        assert cache.get(HASH) is None, field
    cache.path(HASH).write_text(json.dumps({**whole, "provider": "another"}))
    assert cache.get(HASH) is None
    name, _ = put_vector(cache, Embedded("ok", VECTOR))
    another, _ = put_vector(cache, Embedded("ok", VECTOR[::-1]), text="a dog")
    dog = json.loads(cache.path(another).read_bytes())
    cache.path(name).write_text(json.dumps({**dog, "request_hash": name}))
    assert cache.get_vector(name) is None


def test_a_broken_vector_is_as_good_as_none_and_the_next_one_takes_its_place(cache):
    name, _ = put_vector(cache, Embedded("ok", VECTOR))
    path = cache.path(name)
    whole = path.read_bytes()
    checked = 0
    for content in broken(whole):
        if json.loads(whole) | {"tokens_in": 0} == _fields(content) | {"tokens_in": 0}:
            continue  # a vector's token count decides nothing
        path.write_bytes(content)
        assert cache.get_vector(name) is None, content
        assert put_vector(cache, Embedded("ok", VECTOR))[1], content
        assert cache.get_vector(name) == Embedded("ok", VECTOR)
        checked += 1
    assert checked > 12


def _fields(content):
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def test_vectors_and_failures_to_embed_come_back(cache):
    name, _ = put_vector(cache, Embedded("ok", VECTOR))
    assert cache.get_vector(name) == Embedded("ok", VECTOR)
    assert np.frombuffer(cache.get_vector(name).vector, "<f4")[1] == -1.0
    long, _ = put_vector(cache, Embedded("too_long", detail="8192 at most"), text="long " * 9999)
    assert cache.get_vector(long) == Embedded("too_long", b"", "8192 at most")
    assert cache.get(name) is None  # of another kind
    with pytest.raises(ValueError, match="vector of 0 bytes"):
        put_vector(cache, Embedded("ok"), text="none")
    with pytest.raises(ValueError, match="vector of 3 bytes"):
        put_vector(cache, Embedded("ok", b"abc"), text="odd")


def test_two_processes_that_put_the_same_entries_agree_on_one_of_them_each(tmp_path):
    script = """
import sys
from pathlib import Path
from memlake.transforms.llm.records.cache import ReplyCache
from memlake.transforms.llm.protocol.model import Message, Reply, Request
cache, won = ReplyCache(Path(sys.argv[1])), []
input()
for number in range(300):
    request = Request("m", (Message("user", str(number)),), 10)
    reply = Reply(request.hash("p"), "ok", f"by {sys.argv[2]}")
    won.append(cache.put(reply, request=request, provider="p", about=""))
    kept = cache.get(request.hash("p"))
    assert kept is not None and (kept.text == reply.text) == won[-1]
print(sum(won))
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    both = [subprocess.Popen([*command, name], stdin=-1, stdout=-1, text=True) for name in ("a", "b")]
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [int(process.communicate(timeout=60)[0]) for process in both]
    assert sum(won) == 300
    files = list((tmp_path / "cache").rglob("*"))
    assert sum(file.is_file() for file in files) == 300  # and nothing is left lying about
