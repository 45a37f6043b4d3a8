"""What the command prints: one JSON document, or tables and lines for people; errors and notes go to stderr."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.base.jsonable import jsonable

# C0 and C1 controls move cursors and colour terminals; the bidirectional ones reorder what a reader sees.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_document: TextIO | None = None  # the real stdout while --json keeps everything else off it


@contextlib.contextmanager
def stdout_for(*, as_json: bool) -> Iterator[None]:
    """Keep stdout for the one document: under --json whatever else writes to it, in any process, lands on stderr."""
    global _document
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if not as_json:
        yield
        return
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace") as real:
        _document = real
        os.dup2(2, 1)
        try:
            yield
        finally:
            _document = None
            os.dup2(real.fileno(), 1)


def as_json() -> bool:
    """Whether stdout is for the one document."""
    return _document is not None


def document(value: object) -> bool:
    """Print the one document of --json, and say that it is all; without --json do neither.

    NaN is null, times are ISO 8601, text is UTF-8.
    """
    if _document is None:
        return False
    json.dump(jsonable(value), _document, ensure_ascii=False, allow_nan=False)
    _document.write("\n")
    _document.flush()
    return True


def document_with_error(value: Mapping[str, object], error: MemlakeError) -> bool:
    """Print the document of work that was finished and still failed, with the error in it; as `document`."""
    return document({**value, "error": {"code": error.code, "message": error.message, "hint": error.hint}})


def printable(text: str) -> str:
    """The text on one line, each control sign shown as its code, so that data cannot steer a terminal."""
    return _CONTROL.sub(lambda sign: "\u21b5" if sign[0] == "\n" else f"\\x{ord(sign[0]):02x}", text)


def say(text: str = "") -> None:
    """Print a line for people; control signs in it are made visible, since data may hold any."""
    print("\n".join(printable(line) for line in text.split("\n")))


def note(text: str, *, quiet: bool = False) -> None:
    """Print a line about the work, not its result, on stderr."""
    if not quiet:
        print(printable(text), file=sys.stderr, flush=True)


def flush() -> None:
    """Write what is buffered, so that a closed pipe is met while it can still be handled."""
    sys.stdout.flush()


def close_quietly() -> None:
    """Let the interpreter's own flush at exit go nowhere, once the reader of stdout has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def fail(code: str, message: str, hint: str) -> None:
    """Print an error: a document under --json, else one line of error, one for each item of a list in it, one of advice."""
    message = "\n- ".join(" ".join(item.split()) for item in message.split("\n- "))
    if document({"error": {"code": code, "message": message, "hint": hint}}):
        return
    with contextlib.suppress(BrokenPipeError):
        print(_red("error: ") + "\n".join(map(printable, message.split("\n"))), file=sys.stderr)
        if hint:
            print("hint:  " + printable(" ".join(hint.split())), file=sys.stderr)


def describe(error: Exception) -> tuple[str, str, str]:
    """Code, message and hint of an error that memlake did not foresee."""
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return "system", f"{error.strerror or error}{where}", "check the path, its permissions and the free space"
    kind = type(error).__name__
    return "internal", f"{kind}: {error}", "this is a fault of memlake; MEMLAKE_TRACEBACK=1 shows where it happened"


def _red(text: str) -> str:
    return f"\033[1;31m{text}\033[0m" if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else text
