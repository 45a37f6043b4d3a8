"""Lines of JSON objects, in batches of some 8 MiB, with what could not be parsed beside them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.base.lines import BLOCK_BYTES, LineNumbers, read_blocks
from memlake.transforms.text.clean import Fault, mended_letters, parse_json

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
        letter = DeadLetter("unreadable", f"cannot be read: {error.strerror or error}", source.uri, None, "file")
        yield Batch(0, numbers, [], [], [letter])


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
