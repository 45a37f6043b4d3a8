"""JSON out of replies: what is read, what is asked for again, what is given up, and that it replays unpaid."""

import asyncio
import json

import pytest
from edges import edge_and_quota, request
from openai_server import Faults, OpenAIServer
from scripted_model import ScriptedModel

from memlake.transforms.llm import structured
from memlake.transforms.llm.structured import ask_json, read_json

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "string"}}},
        "required": ["items"],
        "additionalProperties": False,
    }
)
GOOD = '{"items": ["a", "b"]}'
VALUE = {"items": ["a", "b"]}
# The whole text; then 200 starts that fail and 20 that are mended, outside of thoughts and with them.
MOST_ASKED = 1 + 2 * (200 + 20)


class CountedDecoder:
    """The decoder of replies; work that grows with the length of a hostile text goes beyond MOST_ASKED and fails there."""

    def __init__(self, decoder):
        self.decoder, self.asked = decoder, 0

    def decode(self, text):
        return self._counted().decode(text)

    def raw_decode(self, text, start):
        return self._counted().raw_decode(text, start)

    def _counted(self):
        self.asked += 1
        assert self.asked <= MOST_ASKED
        return self.decoder


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (GOOD, VALUE),
        ("  \n" + GOOD + "\n", VALUE),
        ("```json\n" + GOOD + "\n```", VALUE),
        ("Sure! Here it is:\n```\n" + GOOD + "\n```\nAnything else?", VALUE),
        (GOOD + "\n\nThese are the {most} important, e.g. [1] and {0}.", VALUE),
        ("See [1] and {x}: " + GOOD, VALUE),
        ('<think>Maybe {"items": []}? No.</think>\n' + GOOD, VALUE),
        ('Hmm, {"items": ["draft"]}\n</think>\n' + GOOD, VALUE),
        (
            "<think>" + GOOD.replace("a", "y") + "</think> and <think>" + GOOD.replace("a", "x") + "</think>" + GOOD,
            VALUE,
        ),
        ("<thinking>\n" + GOOD.replace("a", "z") + "</thinking>" + GOOD, VALUE),
        ('{"items": ["draft"]} <think>no</think> still no </think>' + GOOD, VALUE),
        ("<think>It is all that I said: " + GOOD, VALUE),
        ('{"other": 1}\n' + GOOD, VALUE),
        ('{"items": ["a", "b",],}', VALUE),
        ("It's this: " + '{"items": ["a",\n "b",\n]}', VALUE),
        ('{"items": ["a", "b"], "items": ["c"]}', {"items": ["c"]}),
        ('{"items": ["caf\\u00e9", "\\ud83d\\ude00"]}', {"items": ["caf\u00e9", "\U0001f600"]}),
        ('{"items": ["half \\ud83d"]}', {"items": ["half \ufffd"]}),
        ('{"items": ["cut \\u12"]}', {"items": ["cut \ufffd"]}),
        ('{"items": ["C:\\dir", "100\\%"]}', {"items": ["C:\\dir", "100\\%"]}),
        ('{"items": ["two\nlines\tand a tab"]}', {"items": ["two\nlines\tand a tab"]}),
        ('{"items": ["a comma, ] in a string,}"],}', {"items": ["a comma, ] in a string,}"]}),
        ('{"items": ["quoted \\" , ]"]}', {"items": ['quoted " , ]']}),
        (json.dumps(GOOD), VALUE),
        ('{"items": ["</think> is a tag"]}', {"items": ["</think> is a tag"]}),
        ('{"items": ["{0} {name} %s <script>"]}', {"items": ["{0} {name} %s <script>"]}),
        ("\ufeff" + GOOD, VALUE),
    ],
)
def test_json_is_found_in_what_models_write_around_it(text, value):
    assert read_json(text, SCHEMA) == (value, "")


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [
        ("", None, "the reply is empty"),
        (" \n", None, "the reply is empty"),
        ("I cannot do that.", None, "the reply is not JSON"),
        ('{"items": ["a", "b"', None, "the reply is not JSON"),
        ('{"items": [NaN]}', None, "the reply is not JSON"),
        ('{"items": [-Infinity, 1e999]}', None, "the reply is not JSON"),
        ("[" * 200_000, None, "the reply is not JSON"),
        ('{"items": ["' + '\\"' * 100_000, None, "the reply is not JSON"),
        ("<think>" * 50_000 + "{" * 50_000, None, "the reply is not JSON"),
        ("</think>{,\n" * 50_000, None, "the reply is not JSON"),
        ('{"items":' * 50_000, None, "the reply is not JSON"),
        ('{"items": [1' + "0" * 5000 + "]}", None, "the reply is not JSON"),
        ('{"items": "a"}', {"items": "a"}, "$.items: 'a' is not of type 'array'"),
        ('{"items": ["a", 7]}', {"items": ["a", 7]}, "$.items[1]: 7 is not of type 'string'"),
        ('["a"]', ["a"], "$: ['a'] is not of type 'object'"),
        ("42", 42, "$: 42 is not of type 'object'"),
        ('{"result": 1}', {"result": 1}, "$: "),
        ("Here: " + json.dumps({"result": VALUE}), {"result": VALUE}, "$: "),  # what stands within another is not it
    ],
)
def test_what_is_wrong_is_said(text, value, problem, monkeypatch):
    counted = CountedDecoder(structured._DECODER)
    monkeypatch.setattr(structured, "_DECODER", counted)
    found, said = read_json(text, SCHEMA)
    assert found == value
    assert said.startswith(problem)
    # A decoder that nobody asked would have counted nothing.
    assert bool(text.strip()) == bool(counted.asked)


def test_of_several_values_the_first_that_keeps_to_the_schema_counts_and_else_the_longest():
    long = json.dumps({"other": "much longer than the one that is wanted"})
    for text in (f"{long} {GOOD}", f"{GOOD} {long}", f'{long}\n{GOOD}\n{{"items": ["c", "d", "e"]}}'):
        assert read_json(text, SCHEMA) == (VALUE, "")
    assert read_json(f"[7] {long} [8]", SCHEMA)[0] == json.loads(long)
    assert read_json("see [7] or [8]", "") == ([7], "")


@pytest.mark.parametrize("text", ["", " \n", "prose " * 50_000, json.dumps({"items": [{"x": "y" * 50_000}]})])
def test_what_a_repair_shows_of_the_reply_is_never_empty_and_never_long(text):
    model = ScriptedModel(lambda _: text)
    asyncio.run(ask_json(model, request(schema=SCHEMA), stage="extract", about="", repairs=1))
    *_, shown, complaint = model.requests[1].messages
    assert (shown.role, complaint.role) == ("assistant", "user")
    assert shown.content.strip()
    assert shown.content.startswith(text.strip()[:16_000])
    assert len(shown.content) < 16_100
    assert len(complaint.content) < 700


def test_any_json_will_do_where_there_is_no_schema():
    assert read_json("see [1]: " + GOOD, "") == (VALUE, "")
    assert read_json("[]", "") == ([], "")
    for number in ("1e999", "-1e999", "NaN"):
        assert read_json(f"[{number}]", "") == (None, "the reply is not JSON")


@pytest.fixture(scope="module")
def scripted():
    """A server that says what the test wrote into the request, or what is set for it."""
    with OpenAIServer(script="openai_replies:echo") as server:
        yield server


@pytest.fixture
def server(scripted):
    scripted.set(replies=(), faults=Faults(), no_schema=False, ignore_schema=False)
    scripted.reset()
    return scripted


def parse(edge, text, repairs=2):
    asked = request(text, schema=SCHEMA)
    return edge.submit(ask_json(edge, asked, stage="extract", about=text, repairs=repairs)).result(30)


def test_a_good_reply_is_taken_as_it_is(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        parsed = parse(edge, GOOD)
    assert (parsed.value, parsed.outcome, parsed.problem, parsed.repairs) == (VALUE, "ok", "", 0)
    assert [reply.text for reply in parsed.replies] == [GOOD]


def test_a_bad_reply_is_shown_with_its_fault_and_asked_for_again(server, tmp_path):
    # The repair carries the complaint, by which the server knows it and answers rightly.
    server.set(replies=(("That reply cannot be used", GOOD),))
    bad = '{"items": [{"braces": "{0} {name} %s"}]}'
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        parsed = parse(edge, bad)
        again = parse(edge, bad)
    assert (parsed.value, parsed.outcome, parsed.repairs) == (VALUE, "ok", 1)
    assert [reply.text for reply in parsed.replies] == [bad, GOOD]
    first, second = server.requests()
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]
    shown, complaint = second.body["messages"][-2:]
    assert shown == {"role": "assistant", "content": bad}
    assert "$.items[0]: {'braces': '{0} {name} %s'} is not of type 'string'" in complaint["content"]
    assert server.stats().calls == 2
    assert again.value == parsed.value
    assert [reply.from_cache for reply in again.replies] == [True, True]


@pytest.mark.parametrize(("fault", "value"), [("empty", None), ("wrong_schema", {"result": VALUE, "status": "ok"})])
def test_what_stays_wrong_is_invalid_after_the_last_repair(server, tmp_path, fault, value):
    server.set(faults=Faults(1.0, (fault,)), replies=(("every", GOOD),))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        parsed = parse(edge, "every")
        calls = server.stats().calls
        again = parse(edge, "every")
    assert (parsed.outcome, parsed.repairs, len(parsed.replies), calls) == ("invalid", 2, 3, 3)
    assert parsed.problem
    assert parsed.value == value
    assert (again.value, again.outcome, again.problem) == (parsed.value, parsed.outcome, parsed.problem)
    assert server.stats().calls == 3


def test_no_repair_is_made_where_none_is_allowed(server, tmp_path):
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        parsed = parse(edge, "prose", repairs=0)
    assert (parsed.outcome, parsed.repairs, server.stats().calls) == ("invalid", 0, 1)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("cut", "cut"), ("refusal", "refused"), ("content_filter", "filtered"), ("too_long", "too_long")],
)
def test_what_is_no_matter_of_form_is_passed_on_at_once(server, tmp_path, fault, outcome):
    server.set(faults=Faults(1.0, (fault,)))
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        parsed = parse(edge, GOOD)
    assert (parsed.value, parsed.outcome, parsed.repairs, len(parsed.replies)) == (None, outcome, 0, 1)
    assert parsed.problem == parsed.replies[0].detail != ""


def test_a_server_that_ignores_the_schema_is_read_all_the_same(server, tmp_path):
    server.set(ignore_schema=True)
    with edge_and_quota(server.url, tmp_path) as (edge, _):
        parsed = [parse(edge, json.dumps({"items": [f"{number}"]})) for number in range(6)]
    assert [reply.value for reply in parsed] == [{"items": [f"{number}"]} for number in range(6)]
    assert {reply.repairs for reply in parsed} == {0}
    assert {reply.replies[0].mode for reply in parsed} == {"json_schema"}
