"""A file that a command is to write: what is wrong with its name is said before anything is computed."""

from collections.abc import Sequence
from pathlib import Path

from memlake.transforms.base.errors import NotFoundError, UsageError


def check_out(out: Path, suffixes: Sequence[str], *, example: str) -> None:
    """Refuse a file that could not be written.

    Args:
        suffixes: of the formats that there are.
        example: a good name.

    Raises:
        UsageError: its suffix is none of them.
        NotFoundError: its folder does not exist.
    """
    if out.suffix not in suffixes:
        raise UsageError(
            f"out={str(out)!r}: suffix {out.suffix!r} is unknown; allowed: {', '.join(suffixes)}",
            hint=f"--out {example}",
        )
    if not out.absolute().parent.is_dir():
        raise NotFoundError(f"out={str(out)!r}: folder {out.absolute().parent} does not exist", hint="make it first")
