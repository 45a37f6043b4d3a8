"""What a test server's model says: scripts from a request's body to the text of the reply, by rule, always the same.

The transcript is found as the lines of a user message that are JSON objects with `turn` and `text`; the form of the
reply in the schema that the request carries, or in the words of its messages.
"""

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]
TYPES = (
    "decision",
    "key_fact",
    "event",
    "todo",
    "reminder",
    "insight",
    "preference",
    "person_attribute",
    "relationship",
)
WORDS = {
    "decision": ("decided", "agreed", "chose"),
    "todo": ("will", "should", "must"),
    "reminder": ("remember", "remind", "forget"),
    "preference": ("love", "like", "prefer", "favorite", "hate"),
    "event": ("went", "yesterday", "tomorrow", "last", "met"),
    "relationship": ("friend", "brother", "sister", "mother", "father", "wife", "husband"),
}
FORMS = ("artifacts", "propositions", "summary", "keyphrases", "facts")
LEAST_WORDS = 4
_CLAUSE = re.compile(r"[^.!?;,\n]+")
_TIME = re.compile(r"\b(yesterday|today|tomorrow|last (?:week|month|year)|next (?:week|month|year))\b", re.IGNORECASE)


def artifacts(body: Body) -> str:
    """For every turn of at least four words an item that quotes its first clause; nothing for shorter ones."""
    return _written(body, form_of(body))


def nothing(body: Body) -> str:
    """The empty list, in the form that was asked for: a model that finds nothing worth keeping."""
    return json.dumps({"summary": ""} if form_of(body) == "summary" else {_list_of(form_of(body)): []})


def echo(body: Body) -> str:
    """The last message, word for word."""
    return str(body["messages"][-1]["content"])


def form_of(body: Body) -> str:
    """Which of FORMS a request wants; artifacts when nothing says."""
    schema = _schema(body)
    names = set(schema.get("properties", ()))
    names |= set(_item_schema(schema).get("properties", ()))
    for form in FORMS:
        if form in names:
            return form
    words = " ".join(message["content"] for message in body["messages"] if message["role"] == "system")
    found = [(words.find(f'"{form}"'), form) for form in FORMS if f'"{form}"' in words]
    return min(found)[1] if found else "artifacts"


def transcript(body: Body) -> list[dict[str, Any]]:
    """The turns of the last user message that has any: objects with turn, speaker and text."""
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            turns = [line for line in _lines(message["content"]) if "turn" in line and "text" in line]
            if turns:
                return turns
    return []


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


def _written(body: Body, form: str) -> str:
    turns = transcript(body)
    if form == "summary":
        parts = [_clause(turn["text"]) for turn in turns if _is_long(turn["text"])]
        return json.dumps({"summary": "; ".join(parts)[: _room(body)]}, ensure_ascii=False)
    if form in ("keyphrases", "facts"):
        items = [{"turn": turn["turn"], form: _keys(turn, form)} for turn in turns if _is_long(turn["text"])]
        return json.dumps({"turns": items}, ensure_ascii=False)
    missed = _asks_for_missed(body)
    found = [_item(turn, missed=missed) for turn in turns if _is_long(turn["text"])]
    fields = _item_schema(_schema(body)).get("properties", {})
    items = [_fitted(item, fields, form) for item in found if item]
    return json.dumps({form: items}, ensure_ascii=False)


def _item(turn: dict[str, Any], *, missed: bool) -> dict[str, Any] | None:
    """One item of a turn: of its first clause, or of its second where what was missed is asked for."""
    text = str(turn["text"])
    clauses = [clause.strip() for clause in _CLAUSE.findall(text) if clause.strip()] or [text.strip()]
    if missed and len(clauses) < 2:
        return None
    clause = clauses[1] if missed else clauses[0]
    time = _TIME.search(text)
    return {
        "type": _type(text),
        "content": f"{turn.get('speaker') or 'Someone'} said that {clause}",
        "quote": clause,
        "speaker": turn.get("speaker"),
        "confidence": (50 + zlib.crc32(clause.encode("utf-8", "replace")) % 50) / 100,
        "time_expression": time.group() if time else None,
        "resolved_time": None,
        "turns": [turn["turn"]],
    }


def _fitted(item: dict[str, Any], fields: dict[str, Any], form: str) -> dict[str, Any]:
    """The item with the fields that the schema names; what there is none of is null where it may be, else ''."""
    if form == "propositions":
        item = {name: value for name, value in item.items() if name not in ("type", "confidence")}
    if fields:
        item = {name: value for name, value in item.items() if name in fields}
    return {
        name: "" if value is None and not _may_be_null(fields.get(name, {})) else value for name, value in item.items()
    }


def _may_be_null(field: dict[str, Any]) -> bool:
    kinds = field.get("type", [])
    return "null" in kinds or any(_may_be_null(kind) for kind in field.get("anyOf", ()))


def _keys(turn: dict[str, Any], form: str) -> list[str]:
    clause = _clause(turn["text"])
    if form == "facts":
        return [f"{turn.get('speaker') or 'Someone'} said that {clause}"]
    return sorted({word.lower() for word in re.findall(r"\w{5,}", turn["text"])})[:3] or [clause]


def _type(text: str) -> str:
    words = set(re.findall(r"[a-z]+", text.lower()))
    for name, signs in WORDS.items():
        if words & set(signs):
            return name
    return TYPES[zlib.crc32(text.encode("utf-8", "replace")) % len(TYPES)]


def _clause(text: str) -> str:
    return next((clause.strip() for clause in _CLAUSE.findall(text) if clause.strip()), text.strip())


def _is_long(text: str) -> bool:
    return len(text.split()) >= LEAST_WORDS


def _asks_for_missed(body: Body) -> bool:
    """Whether a message after the transcript asks what was missed; a transcript may hold the word as well."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return any("missed" in text for text in asked if not any("turn" in line for line in _lines(text)))


def _room(body: Body) -> int:
    """Characters that fit into the reply's room, at four a token, less what JSON needs."""
    return max(8, 4 * int(body.get("max_tokens") or body.get("max_completion_tokens") or 4096) - 64)


def _schema(body: Body) -> dict[str, Any]:
    return body.get("response_format", {}).get("json_schema", {}).get("schema", {})


def _item_schema(schema: dict[str, Any]) -> dict[str, Any]:
    lists = [field for field in schema.get("properties", {}).values() if field.get("type") == "array"]
    return lists[0].get("items", {}) if lists else {}


def _list_of(form: str) -> str:
    return "turns" if form in ("keyphrases", "facts") else form
