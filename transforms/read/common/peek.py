"""What the first bytes of a file hold, even where they break off: the structure that format detection looks at."""

import json
import re
from functools import lru_cache
from typing import Any

_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,"]|[^\s\[\]{}:,"]+', re.DOTALL)
_DEEPEST = 100


@lru_cache(maxsize=8)
def lines_of(head: bytes) -> list[dict[str, Any]]:
    """The objects that stand alone on a line; [] where the head is one JSON text over several lines, or a list."""
    text = _text(head)
    lines = text.lstrip().split("\n")
    if not lines[0].strip() or lines[0].lstrip()[:1] == "[" or lines[0].strip() == "{":
        return []
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        value = _loads(line)
        if value is None and number == len(lines) and not found:
            value = _loads(_repaired(line))
        if isinstance(value, dict):
            found.append(value)
    return found


@lru_cache(maxsize=8)
def whole_of(head: bytes) -> Any:
    """The head as one JSON text, closed where it breaks off; None when it is none."""
    text = _text(head)
    value = _loads(text)
    return _loads(_repaired(text)) if value is None else value


def first_item(head: bytes) -> dict[str, Any]:
    """The first object of a file that is a list of objects; {} for others."""
    value = whole_of(head)
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def _text(head: bytes) -> str:
    return head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> str:
    """The longest start of a JSON text that ends after a whole value, with what is open closed."""
    closers: list[str] = []
    safe, tail, value_next = 0, "", False
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark in "[{":
            closers.append("]" if mark == "[" else "}")
        elif mark in "]}":
            if not closers:
                break
            closers.pop()
        elif mark == '"':
            # A string that never ends: as a value it counts as an empty one, for its key is what is looked at.
            if value_next or closers[-1:] == ["]"]:
                safe, tail = match.start(), '""' + "".join(reversed(closers))
            break
        elif mark in ":,":
            value_next = mark == ":"
            continue
        elif (closers and closers[-1] == "}" and not value_next) or (mark[0] != '"' and match.end() == len(text)):
            # A key, or a number that may be cut.
            continue
        value_next = False
        safe, tail = match.end(), "".join(reversed(closers))
        # Nothing that is known nests deep.
        if not closers or len(closers) > _DEEPEST:
            break
    return text[:safe] + tail
