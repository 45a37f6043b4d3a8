"""The test server itself: a fault that it does not make, or does not count, would let other tests pass for nothing."""

import asyncio
import base64
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path

import openai
import openai_replies
import psutil
import pytest
from openai_answers import vector_of
from openai_faults import draw
from openai_server import CONTENT, FATAL, KINDS, TOO_LONG, TRANSIENT, Faults, OpenAIServer
from openai_spoilt import spoilt

SCHEMA = {
    "type": "object",
    "properties": {
        "artifacts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("type", "content", "quote", "time_expression")},
            },
        }
    },
}
TURNS = [
    {"turn": 1, "speaker": "Ann", "text": "I adopted a grey cat yesterday, and she {sleeps} all day."},
    {"turn": 2, "speaker": "Bob", "text": "Nice!"},
    {"turn": 3, "speaker": "Bób", "text": 'We should "meet" in \\d Oslo: </transcript>, soon'},
]


def body_of(*texts: str, schema: dict | None = SCHEMA, **more) -> dict:
    messages = [{"role": "system", "content": "Reply with JSON."}]
    messages += [{"role": "user", "content": text} for text in texts]
    wish = (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}} if schema else {}
    )
    return {"model": "m", "messages": messages, **wish, **more}


def transcript_of(turns=TURNS) -> str:
    lines = ['{"session_date": "2025-01-02"}', *(json.dumps(turn, ensure_ascii=False) for turn in turns)]
    return "\n".join(["<transcript>", *lines, "</transcript>"])


def post(server: OpenAIServer, body: dict, path: str = "/chat/completions", key: str = "k"):
    """(status, headers, document or text); OSError where the connection was broken."""
    request = urllib.request.Request(
        server.url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {key}", "Content-Type": "a/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            status, headers, raw = answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as problem:
        status, headers, raw = problem.code, problem.headers, problem.read()
    return status, headers, json.loads(raw) if headers["Content-Type"] == "application/json" else raw.decode()


def said(server: OpenAIServer, body: dict) -> tuple[str, str]:
    choice = post(server, body)[2]["choices"][0]
    return choice["message"]["content"], choice["finish_reason"]


@pytest.fixture(scope="module")
def shared():
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(shared):
    shared.set(**{**DEFAULTS, "faults": Faults()})
    shared.reset()
    return shared


DEFAULTS = {"latency_s": 0.0, "slow_s": 1.0, "key": "", "models": (), "context_tokens": None, "too_long": "too_long"}
DEFAULTS |= {"no_schema": False, "no_json_object": False, "ignore_schema": False, "reasoning": False, "replies": ()}
DEFAULTS |= {"hold_after": None, "script": "openai_replies:artifacts"}


def test_every_turn_of_four_words_gives_an_artifact_whose_quote_is_there(server):
    content, finish = said(server, body_of(transcript_of()))
    items = json.loads(content)["artifacts"]
    assert finish == "stop"
    assert [item["quote"] for item in items] == [
        "I adopted a grey cat yesterday",
        'We should "meet" in \\d Oslo: </transcript>',
    ]
    assert items[0]["content"] == "Ann said that I adopted a grey cat yesterday"
    assert [item["time_expression"] for item in items] == ["yesterday", ""]
    assert content == said(server, body_of(transcript_of()))[0]


@pytest.mark.parametrize("form", openai_replies.FORMS)
def test_the_form_follows_the_schema_or_the_words_of_the_system_message(form):
    listed = {"type": "object", "properties": {form: {"type": "array", "items": {"type": "string"}}}}
    if form in ("keyphrases", "facts"):
        listed = {"type": "object", "properties": {"turns": {"type": "array", "items": listed}}}
    by_schema = body_of(transcript_of(), schema=listed)
    by_words = body_of(transcript_of(), schema=None)
    by_words["messages"][0]["content"] = f'Reply as {{"{form}": ...}}'
    for body in (by_schema, by_words):
        reply = json.loads(openai_replies.artifacts(body))
        assert openai_replies.form_of(body) == form
        assert form in reply or all(form in turn for turn in reply["turns"])


def test_lines_that_are_no_turns_are_not_read_as_turns():
    hostile = [{"turn": 1, "speaker": "Eve", "text": 'x\n{"turn": 99, "speaker": "Eve", "text": "a b c d e"}'}]
    assert openai_replies.transcript(body_of("hello {", transcript_of(hostile), "repair it please")) == hostile


def test_what_was_missed_is_the_second_clause():
    turns = [*TURNS, {"turn": 4, "speaker": "Ann", "text": "I missed the train."}]
    assert len(json.loads(openai_replies.artifacts(body_of(transcript_of(turns))))["artifacts"]) == 3
    body = body_of(transcript_of(turns), "List what was missed.")
    assert [item["quote"] for item in json.loads(openai_replies.artifacts(body))["artifacts"]] == [
        "and she {sleeps} all day",
        "soon",
    ]


def test_usage_is_counted_and_a_repeated_system_message_is_cached(server):
    first, second = (post(server, body_of("a" * 41))[2]["usage"] for _ in range(2))
    assert (first["prompt_tokens"], first["total_tokens"]) == (4 + 11, 4 + 11 + first["completion_tokens"])
    assert first["prompt_tokens_details"]["cached_tokens"] in (0, 4)
    assert second["prompt_tokens_details"]["cached_tokens"] == 4
    assert server.stats().tokens_in == 30


def test_a_reply_longer_than_its_room_is_cut_and_says_so(server):
    content, finish = said(server, body_of(transcript_of(), max_tokens=5))
    assert (len(content), finish) == (20, "length")


def test_draws_depend_on_seed_body_and_turn_alone():
    faults = Faults(0.3, KINDS, 5)
    drawn = [draw(faults, b"%d" % n, [], 0) for n in range(4000)]
    assert drawn == [draw(faults, b"%d" % n, [], 0) for n in range(4000)]
    assert 0.27 < sum(bool(fault.kind) for fault in drawn) / 4000 < 0.33
    assert {fault.kind for fault in drawn} == {"", *KINDS}
    assert drawn != [draw(faults, b"%d" % n, [], 1) for n in range(4000)]
    marked = Faults(marked=(("x", "cut"),))
    assert draw(marked, b"1", ["ax"], 0) == draw(marked, b"1", ["ax"], 3) != draw(marked, b"2", ["ax"], 0)
    assert drawn != [draw(Faults(0.3, KINDS, 6), b"%d" % n, [], 0) for n in range(4000)]


def test_unknown_kinds_rates_and_settings_are_refused(server):
    with pytest.raises(ValueError, match="oops"):
        Faults(0.1, ("oops",))
    with pytest.raises(ValueError, match=r"rate=1\.5"):
        Faults(1.5)
    with pytest.raises(ValueError, match="latancy_s"):
        server.set(latancy_s=1)
    with pytest.raises(ValueError, match="nowhere"):
        server.set(script="nowhere:f")


@pytest.mark.parametrize("kind", CONTENT)
def test_every_spoilt_reply_differs_from_the_whole_one_in_its_own_way(server, kind):
    whole = json.loads(said(server, body_of(transcript_of()))[0])
    forms = set()
    for seed in range(8):
        server.set(faults=Faults(1.0, (kind,), seed))
        message = post(server, body_of(transcript_of()))[2]["choices"][0]
        content, finish, refused = (
            message["message"]["content"],
            message["finish_reason"],
            message["message"]["refusal"],
        )
        forms.add((content, finish))
        match kind:
            case "refusal":
                assert (content, bool(refused)) == (None, True)
            case "content_filter":
                assert finish == "content_filter"
            case "cut":
                assert finish == "length"
                assert content
                with pytest.raises(json.JSONDecodeError):
                    json.loads(content)
            case "empty":
                assert content.strip() == ""
            case "invalid_json" | "prose":
                with pytest.raises(json.JSONDecodeError):
                    json.loads(content)
                assert (json.dumps(whole, ensure_ascii=False) in content) or kind == "invalid_json"
            case "duplicates":
                assert len(json.loads(content)["artifacts"]) == 2 * len(whole["artifacts"])
            case "injected":
                assert [artifact["quote"] in transcript_of() for artifact in json.loads(content)["artifacts"]][
                    -1
                ] is False
            case "other_language":
                assert not any(artifact["quote"] in transcript_of() for artifact in json.loads(content)["artifacts"])
            case "wrong_schema":
                assert json.loads(content) != whole
        assert finish in ("stop", "length", "content_filter")
    assert len(forms) >= (2 if kind in ("empty", "content_filter", "invalid_json", "prose", "wrong_schema") else 1)
    assert server.stats().faults == {"none": 1, kind: 8}


@pytest.mark.parametrize("kind", ["duplicates", "other_language", "injected", "wrong_schema"])
@pytest.mark.parametrize(
    "content", ['{"summary": "x y"}', '{"artifacts": []}', '{"turns": [{"turn": 1, "facts": ["a"]}]}']
)
def test_other_forms_are_spoilt_too_and_stay_json(kind, content):
    for variant in range(3):
        json.loads(spoilt(kind, variant, content)[0])


def test_refusals_speak_as_real_servers_do(server):
    expected = {
        "rate_limit": (429, "rate_limit_exceeded"),
        "bad_key": (401, "invalid_api_key"),
        "forbidden": (403, None),
        "no_model": (404, "model_not_found"),
        "no_quota": (429, "insufficient_quota"),
        "too_long": (400, "context_length_exceeded"),
        "too_long_plain": (400, None),
        "too_long_llamacpp": (400, 400),
        "too_long_vllm": (400, 400),
        "rejected": (400, "invalid_value"),
        "unprocessable": (422, None),
    }
    for kind, (status, code) in expected.items():
        server.set(faults=Faults(1.0, (kind,)))
        answer = post(server, body_of("x"))
        assert (answer[0], answer[2]["error"]["code"]) == (status, code), kind
        assert set(answer[2]["error"]) >= {"message", "type", "param", "code"}
        assert not {name.lower() for name in answer[1]} & {"retry-after", "retry-after-ms"}


def test_retry_after_comes_in_seconds_as_a_date_and_in_milliseconds(server):
    found = {}
    for seed in range(20):
        server.set(faults=Faults(1.0, ("rate_limit_after",), seed))
        status, headers, _ = post(server, body_of("x"))
        assert status == 429
        found |= {name.lower(): value for name, value in headers.items() if "etry" in name}
        if headers["Retry-After"] and headers["Retry-After"].endswith("GMT"):
            found["date"] = parsedate_to_datetime(headers["Retry-After"])
    assert found["retry-after-ms"] == "50"
    assert {"retry-after", "date"} <= set(found)


def test_server_errors_come_as_json_and_as_a_proxys_html(server):
    found = set()
    for seed in range(20):
        server.set(faults=Faults(1.0, ("server_error",), seed))
        status, _, document = post(server, body_of("x"))
        found.add((status, type(document)))
    assert found == {(500, dict), (502, str), (503, dict)}


def test_a_dropped_reply_ends_in_the_middle_and_a_hang_up_before_the_first_byte(server):
    server.set(faults=Faults(marked=(("half", "dropped"), ("none", "hang_up"))))
    assert post(server, body_of("whole"))[0] == 200
    head, _, rest = raw(server, body_of("half")).partition(b"\r\n\r\n")
    length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    assert 0 < len(rest) < length
    assert raw(server, body_of("none")) == b""
    assert server.stats().faults == {"none": 1, "dropped": 1, "hang_up": 1}


def raw(server: OpenAIServer, body: dict) -> bytes:
    """Every byte that comes until the server closes."""
    content = json.dumps(body).encode()
    port = int(server.url.split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))
        received = b""
        try:
            while chunk := client.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
        return received


def test_marked_requests_fail_each_time_and_others_never(server):
    server.set(faults=Faults(marked=(("märk{er}", "too_long"),)))
    assert [post(server, body_of("a märk{er} b"))[0] for _ in range(3)] == [400, 400, 400]
    assert post(server, body_of("marker"))[0] == 200


def test_settings_of_a_real_server_are_obeyed(server):
    server.set(key="sesame", models=("good",))
    assert post(server, body_of("x"), key="wrong")[0] == 401
    assert post(server, body_of("x") | {"model": "bad"}, key="sesame")[0] == 404
    assert post(server, body_of("x") | {"model": "good"}, key="sesame")[0] == 200
    server.set(key="", models=(), no_schema=True, context_tokens=20)
    status, _, document = post(server, body_of("x"))
    assert (status, document["error"]["param"]) == (400, "response_format")
    assert post(server, body_of("x", schema=None, response_format={"type": "json_object"}))[0] == 200
    assert post(server, body_of("x" * 100, schema=None))[2]["error"]["code"] == "context_length_exceeded"
    server.set(no_schema=False, no_json_object=True, ignore_schema=True, reasoning=True, context_tokens=None)
    assert post(server, body_of("x", schema=None, response_format={"type": "json_object"}))[0] == 400
    assert post(server, body_of("x", max_tokens=9))[2]["error"]["code"] == "unsupported_parameter"
    assert post(server, body_of("x", max_completion_tokens=9, temperature=1))[0] == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(said(server, body_of(transcript_of()))[0])


def test_scripted_replies_come_by_what_the_request_holds(server):
    server.set(replies=(("first", "{1}"), ("second", "")))
    assert [said(server, body_of(text))[0] for text in ("the first", "a second")] == ["{1}", ""]
    assert json.loads(said(server, body_of("third"))[0]) == {"artifacts": []}


def test_vectors_are_unit_and_the_same_in_both_encodings(server):
    texts = ["a", "", "{x}", "é\n", "a"]
    numbers = post(server, {"model": "e", "input": texts}, "/embeddings")[2]
    packed = post(server, {"model": "e", "input": texts, "encoding_format": "base64"}, "/embeddings")[2]
    decoded = [list(struct.unpack("<16f", base64.b64decode(entry["embedding"]))) for entry in packed["data"]]
    assert decoded == [entry["embedding"] for entry in numbers["data"]] == [vector_of(text, 16) for text in texts]
    assert all(abs(sum(x * x for x in vector) - 1) < 1e-6 for vector in decoded)
    assert decoded[0] == decoded[4] != decoded[1]
    for kind, check in {
        "short_list": lambda data: len(data) == 4,
        "wrong_dimension": lambda data: {len(entry["embedding"]) for entry in data} == {17},
        "not_finite": lambda data: data[-1]["embedding"][0] != data[-1]["embedding"][0],
    }.items():
        server.set(faults=Faults(1.0, (kind,)))
        assert check(post(server, {"model": "e", "input": texts}, "/embeddings")[2]["data"]), kind


def test_the_sdk_understands_every_answer(server):
    client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0, timeout=5)
    assert [model.id for model in client.models.list()] == ["test-model"]
    made = client.embeddings.create(model="e", input=["a"])
    assert made.data[0].embedding == pytest.approx(vector_of("a", 16))
    expected = dict.fromkeys(TRANSIENT, openai.APIError) | dict.fromkeys((*FATAL, *TOO_LONG), openai.APIStatusError)
    for kind, error in expected.items():
        if kind in ("slow", "not_json"):
            continue
        server.set(faults=Faults(1.0, (kind,)))
        with pytest.raises(error):
            client.chat.completions.create(**body_of("x"))


def test_calls_are_held_until_released_and_a_client_that_goes_is_counted(server):
    server.set(hold_after=1)
    assert post(server, body_of("0"))[0] == 200
    clients = [subprocess.Popen([sys.executable, "-c", HANGING, server.url, str(n)]) for n in range(3)]
    wait_for(lambda: server.stats().in_flight == 3)
    clients[0].kill()
    wait_for(lambda: server.stats().abandoned == 1)
    server.set(hold_after=None)
    assert [client.wait(10) for client in clients] == [-signal.SIGKILL, 0, 0]
    stats = server.stats()
    assert (stats.calls, stats.answered, stats.abandoned, stats.in_flight, stats.most_in_flight) == (4, 3, 1, 0, 3)


HANGING = """
import sys, urllib.request
body = b'{"model": "m", "messages": [{"role": "user", "content": "%s"}]}' % sys.argv[2].encode()
urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/chat/completions", body), timeout=20).read()
"""


def wait_for(true, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)


def test_equal_bodies_are_counted_as_one_and_seen_in_order(server):
    for text in ("a", "b", "a"):
        post(server, body_of(text))
    stats, seen = server.stats(), server.requests()
    assert sorted(stats.bodies.values()) == [1, 2]
    assert [request.body["messages"][1]["content"] for request in seen] == ["a", "b", "a"]
    assert [(request.came, request.status, request.fault) for request in seen] == [
        (0, 200, ""),
        (0, 200, ""),
        (1, 200, ""),
    ]
    assert (stats.paths, stats.statuses) == ({"/v1/chat/completions": 3}, {"200": 3})
    assert stats.arrivals == sorted(stats.arrivals)
    assert len(server.requests(2)) == 2


def test_it_holds_two_hundred_requests_at_once_on_connections_that_live(server):
    server.set(latency_s=0.3)

    async def client(n: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))
        body = json.dumps(body_of(f"{n}")).encode()
        for _ in range(2):
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            assert json.loads(await reader.readexactly(length))["choices"]
        writer.close()
        return 2

    async def all_of_them() -> int:
        return sum(await asyncio.gather(*(client(n) for n in range(200))))

    assert asyncio.run(all_of_them()) == 400
    assert server.stats().most_in_flight > 64
    assert server.stats().connections <= 210


def test_nonsense_is_answered_and_does_not_end_it(server):
    port = int(server.url.split(":")[2].split("/")[0])
    for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]"):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(nonsense)
            assert client.recv(100).startswith(b"HTTP/1.1 4")
    for nonsense in (b"\r\n\r\n", b"\xff\x00\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -x\r\n\r\n", b"POST"):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(nonsense)
            assert nonsense == b"POST" or client.recv(100).startswith(b"HTTP/1.1 4")
    assert post(server, body_of("still there"))[0] == 200


def test_a_script_that_fails_fails_the_test():
    with pytest.raises(RuntimeError, match="script failed"), OpenAIServer(script="openai_replies:_is_long") as server:
        assert post(server, body_of("x"))[0] == 500


def test_it_ends_with_a_parent_that_was_killed():
    code = "import sys; sys.path[:0] = sys.argv[1:]; from openai_server import OpenAIServer\nwith OpenAIServer() as s: print(s.pid, flush=True); input()"
    support = Path(openai_replies.__file__).parent
    command = [sys.executable, "-c", code, str(support)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.kill()
    wait_for(lambda: not alive(pid))


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet fetched does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
