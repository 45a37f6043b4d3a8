"""Write a report: JSON text, and a file that is replaced only when the new one is whole."""

import json
import secrets
from pathlib import Path

from flows.jsonable import jsonable


def json_text(value: object) -> str:
    """One JSON document: NaN is null, times are ISO 8601, text is UTF-8."""
    return json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def write_text(out: Path, text: str) -> int:
    """Put a text in a file's place once all of it is written; its bytes. A lone surrogate is written as its escape."""
    data = text.encode("utf-8", "backslashreplace")
    partial = out.with_name(f".{out.name}.{secrets.token_hex(8)}{out.suffix}")
    try:
        partial.write_bytes(data)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return len(data)
