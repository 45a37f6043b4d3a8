"""Lines of a byte range, in blocks: a range holds the lines that start in it, and memory holds one block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from memlake.transforms.base.conversation import Source
from memlake.transforms.base.opening import open_uri

BLOCK_BYTES = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_STEP = 1024 * 1024


@dataclass(slots=True)
class Block:
    """Whole lines without their breaks; `offset` is the byte where the first starts, `index` its place in the range."""

    offset: int
    index: int
    lines: list[bytes]


def aligned(file: IO[bytes], at: int) -> int:
    """The first line start at or after a byte; the file's length when there is none."""
    if at <= 0:
        return 0
    file.seek(at - 1)
    while piece := file.read(_STEP):
        found = piece.find(b"\n")
        if found >= 0:
            return at + found
        at += len(piece)
    return at - 1 if at > 0 else 0


def read_blocks(source: Source, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    r"""Yield the range's lines, split on b'\n' only, a leading BOM of the file removed. Raises OSError.

    str.splitlines would also split on U+2028, \x0b and others, which occur inside texts.
    """
    with open_uri(source.uri) as file:
        start = aligned(file, source.start)
        end = None if source.end is None else aligned(file, source.end)
        file.seek(start)
        pieces: list[bytes] = []
        offset, place, index = start, start, 0
        while piece := file.read(block_bytes if end is None else min(block_bytes, end - place)):
            place += len(piece)
            cut = piece.rfind(b"\n")
            if cut < 0:
                pieces.append(piece)
                continue
            lines = b"".join((*pieces, piece[:cut])).split(b"\n")
            pieces = [piece[cut + 1 :]]
            yield _block(offset, index, lines)
            offset, index = place - len(pieces[0]), index + len(lines)
        if rest := b"".join(pieces):
            yield _block(offset, index, [rest])


def _block(offset: int, index: int, lines: list[bytes]) -> Block:
    if offset == 0:
        lines[0] = lines[0].removeprefix(_BOM)
    return Block(offset, index, lines)


@dataclass(slots=True)
class LineNumbers:
    """Line numbers (from 1) in the file of the lines of a range; what stands before it is counted only when asked."""

    source: Source
    _before: int | None = None

    def of(self, index: int) -> int:
        """The number in the file of a line, given its place in the range."""
        if self._before is None:
            self._before = self._count()
        return self._before + index + 1

    def _count(self) -> int:
        if self.source.start <= 0:
            return 0
        with open_uri(self.source.uri) as file:
            left = aligned(file, self.source.start)
            file.seek(0)
            count = 0
            while left > 0 and (piece := file.read(min(left, BLOCK_BYTES))):
                count += piece.count(b"\n")
                left -= len(piece)
        return count
