"""Files that are there whole or not at all, whatever stops a writer midway."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def put_once(path: Path, text: str) -> bool:
    """Write a file unless one is there; say whether it was written."""
    with _beside(path) as fresh:
        _write(fresh, text)
        try:
            os.link(fresh, path)  # unlike a rename, never replaces
        except FileExistsError:
            return False
    return True


def put_text(path: Path, text: str) -> int:
    """Write a file, in place of one that is there; its bytes. A lone surrogate is written as its escape."""
    with replacing(path) as fresh:
        return _write(fresh, text)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file at, which takes the file's place once the block has ended, and is gone if it failed."""
    with _beside(path) as fresh:
        yield fresh
        fresh.replace(path)


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


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    fresh = path.with_name(f".{secrets.token_hex(16)}.tmp")
    try:
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)


def _write(path: Path, text: str) -> int:
    return path.write_bytes(text.encode("utf-8", "backslashreplace"))
