"""One exchange, against a server that answers the very bytes of the test."""

import asyncio
import base64
import json
import struct
from contextlib import asynccontextmanager

import pytest

from memlake.transforms.llm.protocol.wire import FatalError, TransientError, chat, embed, open_client

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}


@asynccontextmanager
async def answering(*answers, key="", timeout_s=5.0):
    """A client of a server that gives these raw answers in turn; and the heads of the requests that came."""
    left, heads = list(answers), []

    async def serve(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                heads.append(head.decode().lower())
                length = int(heads[-1].partition("content-length:")[2].split("\r\n")[0])
                await reader.readexactly(length)
                answer = left.pop(0)
                if callable(answer):
                    await answer(writer)
                else:
                    writer.write(answer)
                    await writer.drain()
                if b"Content-Length" not in (b"" if callable(answer) else answer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = open_client(f"http://127.0.0.1:{port}/v1", api_key=key, timeout_s=timeout_s)
    try:
        yield client, heads
    finally:
        await client.close()
        server.close()


def http(body, status=200, headers=""):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(content)}\r\n\r\n".encode() + content


def said(content, finish="stop", **more):
    return {"choices": [{"message": {"content": content, **more}, "finish_reason": finish}]}


def ask(*answers, timeout_s=5.0, **client):
    async def run():
        async with answering(*answers, **client) as (opened, _):
            return await chat(opened, BODY, timeout_s=timeout_s)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("reply", "outcome", "text"),
    [
        (said("fine"), "ok", "fine"),
        (said("half of i", "length"), "cut", "half of i"),
        (said("half of i", "max_tokens"), "cut", "half of i"),
        (said("half", "content_filter"), "filtered", "half"),
        (said("half", "safety"), "filtered", "half"),
        (said("fine", refusal=""), "ok", "fine"),
        (said(None, refusal="I cannot"), "refused", ""),
        (said(""), "ok", ""),
        (said(None), "ok", ""),
        (said([{"type": "text", "text": "in "}, {"type": "image"}, {"type": "text", "text": "parts"}]), "ok", "in parts"),
        (said("x", None), "ok", "x"),
    ],
)  # fmt: skip
def test_what_a_reply_came_to_is_told_by_its_fields(reply, outcome, text):
    exchange = ask(http(reply))
    assert (exchange.outcome, exchange.text) == (outcome, text)
    assert exchange.tokens_in is exchange.tokens_out is exchange.tokens_cached is None


def test_half_an_emoji_in_a_reply_becomes_a_replacement_character():
    exchange = ask(http(rb'{"choices": [{"message": {"content": "a\ud83d b\ud83d\ude00"}, "finish_reason": "stop"}]}'))
    assert exchange.text == "a\ufffd b\U0001f600"


def test_usage_counts_only_where_it_is_a_count():
    usage = {"prompt_tokens": 7, "completion_tokens": True, "prompt_tokens_details": None}
    exchange = ask(http(said("x") | {"usage": usage}))
    assert (exchange.tokens_in, exchange.tokens_out, exchange.tokens_cached) == (7, None, None)
    details = {"prompt_tokens": -1, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
    exchange = ask(http(said("x") | {"usage": details}))
    assert (exchange.tokens_in, exchange.tokens_out, exchange.tokens_cached) == (None, 3, 5)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{",  # and the server hangs up
        b"garbage that is no HTTP\r\n\r\n",
        http(b"<html>a proxy's page</html>"),
        http(b""),
        http(b"\xff\xfe\x00"),
        http([1, 2]),
        http({"choices": []}),
        http({"choices": [{"message": None}]}),
        http({"choices": "none"}),
        http({}),
        http(said("x", "error")),
        http(b"[" * 100_000),
        http({"error": {"message": "upstream", "code": 502}}),
        http({"error": "overloaded"}),
        http("no reason", 500),
    ],
)
def test_an_answer_that_is_none_may_pass(answer):
    with pytest.raises(TransientError):
        ask(answer)


def test_an_error_inside_an_answer_of_200_is_judged_as_if_it_had_its_status():
    with pytest.raises(FatalError) as caught:
        ask(http({"error": {"message": "no key", "code": 401}}))
    assert (caught.value.code, caught.value.status) == ("model_refused", 401)
    exchange = ask(http({"error": {"message": "long", "code": "context_length_exceeded"}}))
    assert exchange.outcome == "too_long"


def test_a_server_that_trickles_for_ever_is_given_up():
    async def trickle(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.02)

    with pytest.raises(TransientError, match=r"no reply within 0\.3 s"):
        ask(trickle, timeout_s=0.3)


def test_the_sdk_never_tries_again_by_itself():
    async def run():
        async with answering(http({}, 500), http(said("a second try"))) as (client, heads):
            with pytest.raises(TransientError):
                await chat(client, BODY, timeout_s=5.0)
            return heads

    assert len(asyncio.run(run())) == 1


def test_retry_after_comes_through():
    with pytest.raises(TransientError) as caught:
        ask(http({"error": {"message": "slow down"}}, 429, "Retry-After: 17\r\n"))
    assert caught.value.retry_after_s == 17


@pytest.mark.parametrize(("key", "sent"), [("", False), ("secret", True)])
def test_a_key_is_sent_only_where_there_is_one(monkeypatch, key, sent):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "of-another-account")

    async def run():
        async with answering(http(said("x")), key=key) as (client, heads):
            await chat(client, BODY, timeout_s=5.0)
            return heads[0]

    head = asyncio.run(run())
    assert ("authorization: bearer secret\r\n" in head) is sent
    assert ("authorization" in head) is sent
    assert "another-account" not in head


def test_a_request_that_is_no_text_is_its_own_fault():
    async def run():
        async with answering() as (client, _):
            return await chat(client, {**BODY, "messages": [{"role": "user", "content": "a\ud83d"}]}, timeout_s=5.0)

    assert asyncio.run(run()).outcome == "rejected"


def embedded(data, count=2, **reply):
    async def run():
        async with answering(http({"data": data, **reply})) as (client, _):
            texts = [f"text {number}" for number in range(count)]
            return await embed(client, "m", texts, base64_floats=True, timeout_s=5.0)

    return asyncio.run(run())


A, B = struct.pack("<2f", 1.0, 0.5), struct.pack("<2f", -2.0, 0.25)


@pytest.mark.parametrize(
    ("data", "vectors"),
    [
        ([{"index": 0, "embedding": [1.0, 0.5]}, {"index": 1, "embedding": [-2, 0.25]}], (A, B)),
        ([{"index": 1, "embedding": [-2.0, 0.25]}, {"index": 0, "embedding": [1.0, 0.5]}], (A, B)),
        ([{"index": 0, "embedding": base64.b64encode(A).decode()}, {"index": 1, "embedding": [-2, 0.25]}], (A, B)),
        ([{"embedding": [1.0, 0.5]}, {"embedding": [-2.0, 0.25]}], (A, B)),
        ([{"embedding": [1.0, 0.5]}], (b"", b"")),
        ([{"index": 1, "embedding": [-2.0, 0.25]}], (b"", B)),
        ([{"index": 0, "embedding": [1.0, 0.5]}, {"index": 0, "embedding": [-2.0, 0.25]}], (b"", b"")),
        ([{"index": 0, "embedding": [1.0, 0.5]}, {"index": 7, "embedding": [-2.0, 0.25]}], (A, b"")),
        ([{"index": 0, "embedding": [1.0, 0.5]}, {"index": -1, "embedding": [-2.0, 0.25]}], (A, b"")),
        ([{"index": 0, "embedding": [1.0, None]}, {"index": 1, "embedding": "!not base64!"}], (b"", b"")),
        ([{"index": 0, "embedding": [float("nan"), 1.0]}, {"index": 1, "embedding": [1e300, 1.0]}], (b"", b"")),
        ([{"index": 0, "embedding": base64.b64encode(A).decode().replace("A", "!A")}, {"index": 1}], (b"", b"")),
        ([{"index": 0, "embedding": "AAA="}, {"index": 1, "embedding": None}], (b"", b"")),
        ([None, 5], (b"", b"")),
        ([], (b"", b"")),
    ],
)  # fmt: skip
def test_vectors_go_to_the_texts_that_they_are_of(data, vectors):
    exchange = embedded(data)
    assert (exchange.outcome, exchange.vectors) == ("ok", vectors)


def test_a_reply_without_vectors_may_pass():
    with pytest.raises(TransientError):
        embedded(None)
