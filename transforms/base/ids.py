"""Content-derived identity: a retried bundle, a second run and another machine give the same ids."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from memlake.transforms.base.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# The unit separator: a character that no field joined here holds, so ('ab', 'c') and ('a', 'bc') differ.
_SEPARATOR = "\x1f"


def content_id(*parts: str | int) -> str:
    """128-bit blake2b over the parts, as 32 hexadecimal digits."""
    joined = _SEPARATOR.join(map(str, parts))
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def content_ids(*columns: Iterable[str]) -> list[str]:
    """content_id of each row of these columns of equal length: the same ids, for many rows at a time."""
    rows = map(_SEPARATOR.join, zip(*columns, strict=True))
    return [blake2b(row.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for row in rows]


def check_name(what: str, name: str) -> str:
    """Return a name that is safe as a folder, a file and an SQL value.

    Raises:
        UsageError: it holds anything but letters, digits, '.', '_' and '-', or starts with another sign.
    """
    if not _NAME.fullmatch(name) or "__" in name:
        raise UsageError(
            f"{what}={name!r} is not a name: letters, digits, '.', '_' and '-' are allowed, up to 100, "
            "a letter or digit first, no '__'",
            hint=f"choose another {what}",
        )
    return name


def column_hash(head: object, columns: Sequence[Sequence[str]]) -> str:
    """128-bit blake2b as 32 hexadecimal digits over a head (numbers, texts, lists of them) and columns of texts."""
    # The text form of lists of numbers and quoted texts is unambiguous.
    digest = blake2b(repr(head).encode(), digest_size=16)
    for column in columns:
        joined = _SEPARATOR.join(column)
        torn = joined.count(_SEPARATOR) >= max(len(column), 1)
        digest.update(f"|{len(joined)}:{[len(value) for value in column] if torn else len(column)}|".encode())
        digest.update(joined.encode())
    return digest.hexdigest()
