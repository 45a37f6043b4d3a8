"""One hash over columns of texts: no two sets of columns share the bytes it is made of, and C makes them."""

from collections.abc import Sequence
from hashlib import blake2b

# A character that texts hardly ever hold; where one does, lengths are written beside it.
_SEPARATOR = "\x1f"


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
