"""What a format is to the rest: a name, how its files are read, and the marks by which they are known.

A mark is written as the JSON that it is found in. `{"question_id": ..., "haystack_.*": [{"role": ...}]}` is an object with
a question_id of any value and a list under a key that begins with haystack_, in which an object has a role:

- `...` is any value, `[]` any list, `[MARK]` a list of which some item bears the mark;
- `{KEY: MARK}` is an object with a key that the regular expression KEY matches whole and whose value bears the mark; `None`
  in place of the mark says that there is no such key; `Exactly({...})` that there are no keys but these;
- `Within(MARK)` is whatever is, or begins with, something that bears the mark, however deep.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, ReadOptions, Source
from memlake.transforms.base.sources import open_uri

HEAD_BYTES = 64 * 1024

# Half a character, as Python writes it and pydantic reads it not; none of the structure.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def head_of(uri: str) -> bytes:
    """The first bytes of a file, by which its format is known. Raises OSError."""
    with open_uri(uri) as file:
        return file.read(HEAD_BYTES)


def unreadable(uri: str, error: OSError) -> DeadLetter:
    """The letter of a file that cannot be opened or read."""
    return DeadLetter("unreadable", f"cannot be read: {error.strerror or error}", uri, None, "file")


@lru_cache(maxsize=8)
def lines_of(head: bytes) -> list[dict[str, Any]]:
    """The objects that stand alone on a line; [] where the head is one JSON text over several lines, or a list."""
    text = _text(head)
    lines = text.lstrip().split("\n")
    if not lines[0].strip() or lines[0].lstrip()[:1] == "[" or lines[0].strip() == "{":
        return []
    found = [value for line in lines if isinstance(value := _value(line), dict)]
    if not found and isinstance(cut := _value(lines[-1], is_cut=True), dict):
        found.append(cut)
    return found


@lru_cache(maxsize=8)
def whole_of(head: bytes) -> Any:
    """The head as one JSON text, closed where it breaks off; None when it is none."""
    return _value(_text(head), is_cut=True)


def first_item(head: bytes) -> dict[str, Any]:
    """The first object of a file that is a list of objects; {} for others."""
    value = whole_of(head)
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def _text(head: bytes) -> str:
    """A head as text without its BOM; a character that is cut is replaced."""
    return head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _value(text: str, *, is_cut: bool = False) -> Any:
    """A JSON text's value, None when it is none; of one that is cut, what is there, and a value's text up to the cut."""
    # Imported here: most commands look into no file.
    from pydantic_core import from_json

    try:
        return from_json(_SURROGATE.sub(r"\\ufffd", text), allow_partial="trailing-strings" if is_cut else "off")
    except ValueError:
        return None


_DEEPEST = 8


class Exactly(dict[str, Any]):
    """An object without other keys."""


@dataclass(frozen=True, slots=True)
class Within:
    """A value that bears the mark, or whose first value or item does, and so on."""

    mark: "Mark"


Mark = EllipsisType | list[Any] | Mapping[str, Any] | Within


@dataclass(frozen=True, slots=True)
class Reader:
    """A format; `layout` decides how its files are cut into shards.

    'file': a shard is whole files. 'conversation_lines': a line is a conversation, so byte ranges are shards.
    'turn_lines': a line is a turn, so a first job gathers each conversation's turns.

    Attributes:
        revision: raised when the same file gives other turns or questions; it is part of their hashes.
        read: yields conversations and dead letters; never raises for bad content.
        items: marks of the first object of a file that is a list.
        wholes: marks of a file that is one JSON text.
        lines: marks of an object that stands alone on a line.
        headers: marks of the first line of a CSV, its names as keys.
    """

    name: str
    revision: int
    layout: Layout
    read: Callable[[Source, ReadOptions], Iterator[Conversation | DeadLetter]]
    items: tuple[Mark, ...] = ()
    wholes: tuple[Mark, ...] = ()
    lines: tuple[Mark, ...] = ()
    headers: tuple[Mark, ...] = ()

    def knows(self, head: bytes) -> bool:
        """Whether these first bytes (up to 64 KiB) bear one of its marks; a value may break off at their end."""
        return (
            any(bears(first_item(head), mark) for mark in self.items)
            or any(bears(whole_of(head), mark) for mark in self.wholes)
            or any(bears(line, mark) for mark in self.lines for line in lines_of(head))
            or any(bears(header_of(head), mark) for mark in self.headers)
        )


def bears(value: object, mark: Mark) -> bool:
    """Whether a JSON value bears a mark."""
    if isinstance(mark, Within):
        return _begins_with(value, mark.mark)
    if isinstance(mark, list):
        return isinstance(value, list) and (not mark or any(bears(item, mark[0]) for item in value))
    if isinstance(mark, Mapping):
        return (
            isinstance(value, dict)
            and all(_has(value, key, inner) for key, inner in mark.items())
            and not (isinstance(mark, Exactly) and len(value) > len(mark))
        )
    return True


def header_of(head: bytes) -> dict[str, None]:
    """The names in the first line of a CSV, in order; of little use for what is none."""
    line = _text(head).lstrip().split("\n")[0].strip()
    try:
        return dict.fromkeys(next(csv.reader([line]), []))
    except csv.Error:
        return {}


def _has(value: dict[str, Any], key: str, inner: Mark | None) -> bool:
    names = [key] if key in value else [name for name in value if re.fullmatch(key, name)]
    return not names if inner is None else any(bears(value[name], inner) for name in names)


def _begins_with(value: object, mark: Mark) -> bool:
    for _ in range(_DEEPEST):
        if bears(value, mark):
            return True
        firsts = list(value.values())[:1] if isinstance(value, dict) else value[:1] if isinstance(value, list) else []
        value = firsts[0] if firsts else None
    return False
