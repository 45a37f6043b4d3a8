"""What is wrong with a text or a JSON line. Only a lone surrogate is ever changed; every other character stays as it is."""

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from memlake.transforms.base.conversation import DeadLetter

_LONE = re.compile("[\ud800-\udfff]")
_NOTHING: tuple[object, ...] = (None, "", [], {})


class Fault(NamedTuple):
    """Why bytes are not JSON: a dead letter's reason and its error line."""

    reason: str
    error: str


class Parsed(NamedTuple):
    """A JSON value, and the paths of the strings in it whose lone surrogates were replaced."""

    value: object
    mended: list[str]


def parse_json(raw: bytes) -> Parsed | Fault:
    """Parse one JSON text; half an emoji (a lone surrogate, which no file can hold) becomes U+FFFD."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        return Fault("wrong_encoding", f"not UTF-8: {error.reason} at byte {error.start} of the line")
    try:
        value: object = json.loads(text)
        # Only an escape can bring a lone surrogate, so most lines need no walk.
        escaped = b"\\u" in raw and (b"\\ud" in raw or b"\\uD" in raw)
        return Parsed(*mend(value)) if escaped else Parsed(value, [])
    except json.JSONDecodeError as error:
        return Fault("truncated_json", f"not JSON: {error.msg} at character {error.pos} of the line")
    except (ValueError, RecursionError) as error:
        return Fault("truncated_json", f"not JSON that can be read: {error}")


def mend(value: object) -> tuple[object, list[str]]:
    """Replace each lone surrogate in every string of a JSON value by U+FFFD, one for one; return it and the paths hit."""
    paths: list[str] = []
    return _mend(value, "", paths), paths


def _mend(value: object, path: str, paths: list[str]) -> object:
    if isinstance(value, str):
        if value.isascii() or not _LONE.search(value):
            return value
        paths.append(path or "the value")
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mend(item, f"{path}[{index}]", paths) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {_LONE.sub("\ufffd", key): _mend(item, f"{path}.{key}", paths) for key, item in value.items()}
    return value


def mended_letters(paths: list[str], uri: str, position: int | None) -> list[DeadLetter]:
    """One kept dead letter for each string that was mended."""
    return [
        DeadLetter(
            "lone_surrogate",
            f"lone surrogate replaced by U+FFFD in {_LONE.sub('?', path).lstrip('.')}",
            uri,
            position,
            outcome="kept",
        )
        for path in paths
    ]


def text_fault(text: object) -> str | None:
    """The reason why this is no text to store (null_text, empty_text, malformed_record), or None."""
    if isinstance(text, str):
        return "empty_text" if not text or text.isspace() else None
    return "null_text" if text is None else "malformed_record"


def content_elsewhere(record: dict[str, Any], keys: Collection[str]) -> str | None:
    """The first of these keys that holds something: a record without its own text, and content where none is looked for.

    Such a record is of another layout. To skip it as one without text would lose what it says without a word.
    """
    return next((key for key in keys if record.get(key) not in _NOTHING), None)


def as_name(value: object) -> str | None:
    """An id or a name at the edge: strings as they are, numbers as text, blank and everything else as missing."""
    if isinstance(value, str):
        return value if value and not value.isspace() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def as_answer(value: object) -> str | None:
    """A gold answer as text: numbers and truth values by their JSON form, lists joined by ', ', null stays null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value)
    return json.dumps(value, ensure_ascii=False)


def listed(value: Any) -> list[Any]:
    """A list as it is, null as no item, and anything else as the one item."""
    return value if isinstance(value, list) else [] if value is None else [value]
