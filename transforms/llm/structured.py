"""JSON out of a model's reply: read tolerantly, held to its schema, asked for again when it is not of it.

Tolerated are fences, prose, thoughts, trailing commas and broken escapes.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from memlake.transforms.llm.protocol.model import Message, Model, Outcome, Reply, Request
from memlake.transforms.text.clean import mend

# What is shown to the model of its own reply: a reply that ran wild should not fill its window.
_LONGEST_SHOWN = 16_000
_LONGEST_PROBLEM = 500
_THINK = re.compile(r"<(/?)think(?:ing)?>")
_OPENS = re.compile(r"[{\[]")
# A string, or a comma with nothing after it in its list. A string that never ends is one too, and nothing here goes back:
# on hostile text either would take time by the square of its length.
_STRING_OR_COMMA = re.compile(r'"[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+(?:"|\Z)|,(?=\s*[}\]])', re.DOTALL)
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt]|u[0-9a-fA-F]{0,3}|.)', re.DOTALL)
# Bounds the work on hostile text: "[[[[..." is a fresh start at every sign.
_MOST_STARTS = 200
_MOST_MENDED_STARTS = 20


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


class Found(NamedTuple):
    """A JSON value, and the characters that it took."""

    value: Any
    length: int


def json_in(text: str) -> Iterator[Found]:
    """Every JSON object and array of a text that does not lie within another, in order; the whole text first.

    Lone surrogates become U+FFFD; of equal keys the last counts; NaN and Infinity are no JSON. After what can be read
    as it stands comes what can be read once it is mended, which may hold some of the same again.
    """
    whole = _decoded(text.strip())
    if whole is not None:
        # A model that was asked for JSON sometimes writes it as a JSON string.
        if isinstance(whole.value, str):
            yield from json_in(whole.value)
        else:
            yield whole
        return
    said = _without_thoughts(text)
    for part in (said, text) if said != text else (text,):
        yield from _scan(part)
        # What is broken at one sign was found in parts only.
        yield from _scan_mended(part)


def _without_thoughts(text: str) -> str:
    """The text outside of <think> blocks; all before the last end counts as thought, for a template may have opened it."""
    said: list[str] = []
    place: int | None = 0
    for tag in _THINK.finditer(text):
        if tag.group(1):
            if place is not None:
                said = []
            place = tag.end()
        elif place is not None:
            said.append(text[place : tag.start()])
            place = None
    return "".join(said) + (text[place:] if place is not None else "")


def _scan(text: str) -> Iterator[Found]:
    place, failed = 0, 0
    while failed < _MOST_STARTS and (opens := _OPENS.search(text, place)):
        found = _decoded(text, opens.start())
        if found is None:
            failed += 1
            place = opens.end()
        else:
            yield found
            place = opens.start() + found.length


def _scan_mended(text: str) -> Iterator[Found]:
    place = 0
    for _ in range(_MOST_MENDED_STARTS):
        opens = _OPENS.search(text, place)
        if opens is None:
            return
        # Mended from here on: what stands before it may hold a quotation mark that is none of JSON's.
        found = _decoded(_STRING_OR_COMMA.sub(_mended, text[opens.start() :]), 0)
        if found is not None:
            yield found
            return
        place = opens.end()


def _mended(match: re.Match[str]) -> str:
    """A string with its escapes in order, or nothing in place of a trailing comma."""
    text = match.group()
    return "" if text == "," else _ESCAPE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    sign = match.group(1)
    if len(sign) == 5 or sign in '"\\/bfnrt':
        return match.group()
    if sign.startswith("u"):
        return "\ufffd"  # an escape that was cut
    return "\\\\" + sign  # a backslash that was meant as one


def _decoded(text: str, start: int | None = None) -> Found | None:
    """The value that begins at `start`, or that the whole text is; None when there is none."""
    try:
        if start is None:
            value, end = _DECODER.decode(text), len(text)
        else:
            value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    try:
        return Found(mend(value)[0], end - (start or 0))
    except RecursionError:
        return None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is not a number that can be stored")
    return number


# Not strict: models write line breaks into strings.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_float=_finite)
