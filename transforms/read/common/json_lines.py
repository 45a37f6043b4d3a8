"""Lines of a byte range, in blocks, and of JSON objects, in batches: a range holds the lines that start in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.base.sources import aligned, open_uri
from memlake.transforms.read.common.reader import unreadable
from memlake.transforms.text.clean import Fault, mended_letters, parse_json

BLOCK_BYTES = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Block:
    """Whole lines without their breaks; `offset` is the byte where the first starts, `index` its place in the range."""

    offset: int
    index: int
    lines: list[bytes]


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


@dataclass
class LineNumbers:
    """Line numbers (from 1) in the file of the lines of a range; what stands before it is counted only when asked."""

    source: Source

    def of(self, index: int) -> int:
        """The number in the file of a line, given its place in the range."""
        return self._before + index + 1

    @cached_property
    def _before(self) -> int:
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


# Where each line is whole in itself, a small block keeps what is parsed in the processor's cache.
LINE_BLOCK_BYTES = 1024 * 1024


@dataclass(slots=True)
class Batch:
    """The objects of a block of lines; `indices` are their places in the range, `offset` is the block's first byte."""

    offset: int
    numbers: LineNumbers
    objects: list[dict[str, Any]]
    indices: list[int]
    letters: list[DeadLetter]


def read_objects(source: Source, scope: str = "conversation", block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
    """Yield the objects of a range's lines; never raises for bad content, nor for a file that cannot be read."""
    numbers = LineNumbers(source)
    try:
        for block in read_blocks(source, block_bytes):
            batch = Batch(block.offset, numbers, [], [], [])
            for index, line in enumerate(block.lines, start=block.index):
                _parse(line, index, batch, source.uri, scope)
            yield batch
    except OSError as error:
        yield Batch(0, numbers, [], [], [unreadable(source.uri, error)])


def each_line(
    read_line: Callable[[dict[str, Any], str], Iterator[Conversation | DeadLetter]],
) -> Callable[[Source, ReadOptions], Iterator[Conversation | DeadLetter]]:
    """The `read` of a format of a conversation a line: `read_line` is given its object and the URI, and knows no position."""

    def read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
        for batch in read_objects(source, block_bytes=LINE_BLOCK_BYTES):
            yield from batch.letters
            for record, index in zip(batch.objects, batch.indices, strict=True):
                for item in read_line(record, source.uri):
                    item.position = batch.offset if isinstance(item, Conversation) else batch.numbers.of(index)
                    yield item

    return read


def _parse(line: bytes, index: int, batch: Batch, uri: str, scope: str) -> None:
    parsed = parse_json(line)
    if isinstance(parsed, Fault):
        if line.strip():
            number = batch.numbers.of(index)
            batch.letters.append(DeadLetter(parsed.reason, parsed.error, uri, number, scope))
        return
    if not isinstance(parsed.value, dict):
        error = f"a line is {type(parsed.value).__name__}, an object is expected"
        batch.letters.append(DeadLetter("malformed_record", error, uri, batch.numbers.of(index), scope))
        return
    if parsed.mended:
        batch.letters += mended_letters(parsed.mended, uri, batch.numbers.of(index))
    batch.objects.append(parsed.value)
    batch.indices.append(index)
