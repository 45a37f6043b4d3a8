"""What the first bytes of a file hold, even where they break off: the structure that format detection looks at."""

import re
from functools import lru_cache
from typing import Any

# Half a character, as Python writes it and pydantic reads it not; none of the structure.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


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
    return head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _value(text: str, *, is_cut: bool = False) -> Any:
    """A JSON text's value, None when it is none; of one that is cut, what is there, and a value's text up to the cut."""
    # Imported here: most commands look into no file.
    from pydantic_core import from_json

    try:
        return from_json(_SURROGATE.sub(r"\\ufffd", text), allow_partial="trailing-strings" if is_cut else "off")
    except ValueError:
        return None
