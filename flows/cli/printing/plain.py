"""Values as text without control signs, and tables as lines: nothing here needs a terminal."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from memlake.transforms.base.jsonable import jsonable

# C0 and C1 controls move cursors and colour terminals; the bidirectional ones reorder what a reader sees.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_PERCENTAGE = re.compile(r"\d+ ?%")


def printable(text: str) -> str:
    """The text on one line, each control sign shown as its code, so that data cannot steer a terminal."""
    return _CONTROL.sub(lambda sign: "\u21b5" if sign[0] == "\n" else f"\\x{ord(sign[0]):02x}", text)


def cell(value: object, *, digits: int = 3) -> str:
    """A value as it stands in a table: null for nothing, few digits, minutes for times, JSON for nested values."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.{digits}f}" if math.isfinite(value) else "null"
    if isinstance(value, datetime):
        return str(jsonable(value.replace(microsecond=0)))
    if isinstance(value, Mapping | list | tuple):
        return printable(json.dumps(jsonable(value), ensure_ascii=False))
    return printable(str(jsonable(value)))


def is_number(value: object) -> bool:
    """Whether a value stands on the right of its column; a share printed as a percentage does too."""
    if isinstance(value, str):
        return _PERCENTAGE.fullmatch(value) is not None
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool]) -> list[str]:
    """A table as lines of aligned text, two spaces between columns, for pipes and files."""
    header = [list(columns)] if any(columns) else []
    texts = [*header, *rows]
    widths = [max((len(text[place]) for text in texts), default=0) for place in range(len(columns))]
    return [
        "  ".join(
            text.rjust(width) if on_right else text.ljust(width)
            for text, width, on_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in texts
    ]
