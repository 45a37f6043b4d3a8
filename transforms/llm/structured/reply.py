"""JSON out of a model's reply: read tolerantly, held to its schema, asked for again when it is not of it."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from memlake.transforms.llm.protocol.model import Message, Model, Outcome, Reply, Request
from memlake.transforms.llm.structured.tolerant import Found, json_in

# What is shown to the model of its own reply: a reply that ran wild should not fill its window.
_LONGEST_SHOWN = 16_000
_LONGEST_PROBLEM = 500


@dataclass(frozen=True, slots=True)
class JsonReply:
    """What a request for JSON came to.

    Attributes:
        value: the JSON value; of outcome 'invalid', what could be read of the last reply, or None.
        outcome: 'ok', or the reply's where there is none to read, or 'invalid' after the last repair.
        replies: one a request, in the order they were asked.
        problem: what was wrong with the last reply; '' when nothing was.
        repairs: how often it was asked for again.
    """

    value: Any
    outcome: Outcome | Literal["invalid"]
    replies: tuple[Reply, ...]
    problem: str
    repairs: int


async def ask_json(model: Model, request: Request, *, stage: str, about: str, repairs: int = 2) -> JsonReply:
    """Ask for JSON of the request's schema; a reply that is none of it is shown to the model and asked for again.

    Each repair is a request of its own, so that the whole chain is found in the cache again.

    Args:
        repairs: how often to ask again, at most.

    Raises:
        ModelStoppedError: see Model.ask.
    """
    replies: list[Reply] = []
    while True:
        reply = await model.ask(request, stage=stage, about=about)
        replies.append(reply)
        made = len(replies) - 1
        if reply.outcome != "ok":
            return JsonReply(None, reply.outcome, tuple(replies), reply.detail, made)
        value, problem = read_json(reply.text, request.schema)
        if not problem:
            return JsonReply(value, "ok", tuple(replies), "", made)
        if made >= repairs:
            return JsonReply(value, "invalid", tuple(replies), problem, made)
        request = replace(request, messages=(*request.messages, *_complaint(reply.text, problem)))


def read_json(text: str, schema: str) -> tuple[Any, str]:
    """The JSON value in a reply and what is wrong with it, '' for nothing; None when there is no JSON.

    Of several values in one reply the first that is of the schema counts; the longest, when none is or any may be.

    Args:
        schema: JSON Schema (Draft 2020-12) as text; '' takes any value.
    """
    if not text.strip():
        return None, "the reply is empty"
    best: Found | None = None
    problem = "the reply is not JSON"
    for found in json_in(text):
        wrong = problem_of(found.value, schema) if schema else ""
        if not wrong and schema:
            return found.value, ""
        if best is None or found.length > best.length:
            best, problem = found, wrong
    return (best.value if best else None), problem


def _complaint(text: str, problem: str) -> tuple[Message, Message]:
    """The reply and what is wrong with it. Joined, never formatted: both hold what a model wrote."""
    shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + " ..."
    # Many chat templates refuse an empty turn, and two of the user in a row.
    says = "That reply cannot be used: " + problem + ". Reply again with the whole JSON and nothing else."
    return Message("assistant", shown if shown.strip() else "(no text)"), Message("user", says)


def problem_of(value: object, schema: str) -> str:
    """What is wrong with a value by a JSON Schema (Draft 2020-12, as text), in one line; '' when nothing is."""
    # Imported here: it takes a tenth of a second, and most commands check no reply.
    from jsonschema.exceptions import best_match

    try:
        error = best_match(_validator(schema).iter_errors(value))
    except RecursionError:
        return "it is nested too deeply"
    return "" if error is None else (error.json_path + ": " + error.message)[:_LONGEST_PROBLEM]


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
