"""Files that are put once and whole: by whoever comes first, and whatever stops a writer midway."""

import json
import os
import secrets
from pathlib import Path
from typing import Any


def put_once(path: Path, text: str) -> bool:
    """Write a whole file unless one is there; say whether this one counts."""
    written = _written_beside(path, text)
    try:
        os.link(written, path)  # unlike a rename, never replaces
    except FileExistsError:
        return False
    finally:
        written.unlink()
    return True


def put_over(path: Path, text: str) -> None:
    """Write a whole file in place of a broken one; readers see the one or the other."""
    _written_beside(path, text).replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON file of ours; None when there is none. A broken one, as a power loss leaves it, is deleted."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        path.unlink(missing_ok=True)
        return None
    return found


def _written_beside(path: Path, text: str) -> Path:
    written = path.with_name(f"{secrets.token_hex(16)}.tmp")
    written.write_text(text, encoding="utf-8")
    return written


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
