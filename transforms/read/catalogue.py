"""The formats that memlake reads: the table of their names, detection by content, and reading by name or by shard."""

import codecs
from collections.abc import Callable, Iterator, Sequence

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.sources import SHARD_BYTES, Shard, plan_shards, source_bytes
from memlake.transforms.read.common.reader import Reader, head_of, lines_of, unreadable, whole_of
from memlake.transforms.read.formats import longmemeval, memsim, openai_chat
from memlake.transforms.read.formats.beam_chats import chats as beam_chats
from memlake.transforms.read.formats.locomo import conversations as locomo
from memlake.transforms.read.formats.membench import trajectories as membench
from memlake.transforms.read.formats.memlake_jsonl import conversations as memlake_jsonl
from memlake.transforms.read.formats.memlake_jsonl import units as memlake_units
from memlake.transforms.read.formats.personamem import chats as personamem
from memlake.transforms.read.formats.prefeval import chats as prefeval

# What a file begins with, and what it then is.
_MAGIC = {
    b"\x1f\x8b": "a gzip file: unpack it first (gunzip)",
    b"PK\x03\x04": "a zip file: unpack it first (unzip)",
    b"BZh": "a bzip2 file: unpack it first (bunzip2)",
    b"\xfd7zXZ\x00": "an xz file: unpack it first (unxz)",
    b"\x28\xb5\x2f\xfd": "a zstd file: unpack it first (unzstd)",
    b"PAR1": "a Parquet file: write its rows as JSON lines first",
    b"ARROW1": "an Arrow file: write its rows as JSON lines first",
    b"SQLite format 3\x00": "an SQLite database: write its rows as JSON lines first",
    b"%PDF-": "a PDF file: write its text as JSON lines first",
}
_OUR_FIELDS = {"conversation_id", "turns", "messages"}


def other_kind(head: bytes) -> str | None:
    """What a file that is no text is; None when its first bytes are those of no kind known here."""
    return next((f"it is {says}" for magic, says in _MAGIC.items() if head.startswith(magic)), None)


def not_lines(head: bytes) -> str | None:
    """What is wrong with conversations that stand in one JSON text instead of one a line; None for anything else."""
    value = whole_of(head)
    item = value[0] if isinstance(value, list) and value else value
    if lines_of(head) or not isinstance(item, dict) or not _OUR_FIELDS & item.keys():
        return None
    if isinstance(value, list):
        return "it is one JSON list: one object a line is expected (jq -c '.[]' FILE writes that)"
    return "its JSON goes over several lines: one object a line is expected (jq -c . FILE writes that)"


_READERS: tuple[Reader, ...] = (
    locomo.READER,
    longmemeval.READER,
    beam_chats.READER,
    memsim.READER,
    prefeval.READER,
    membench.READER,
    personamem.READER,
    openai_chat.READER,
    memlake_jsonl.TURNS,
    memlake_jsonl.CONVERSATIONS,
    memlake_units.READER,
)
FORMATS: dict[str, Reader] = {reader.name: reader for reader in _READERS}
REVISIONS: dict[str, int] = {reader.name: reader.revision for reader in _READERS}


def detect(head: bytes, uri: str = "") -> Reader | DeadLetter:
    """Find the format by the structure of a file's first bytes, never by its name; a dead letter where not one fits."""
    if not head.strip():
        return DeadLetter("empty_file", "the file is empty", uri, None, "file", "skipped")
    found = [reader for reader in _READERS if reader.knows(head)]
    if len(found) > 1:
        names = " and ".join(reader.name for reader in found)
        says = f"it holds {names}: split it into one file each, or read one of them with --format {found[0].name}"
        return DeadLetter("ambiguous_format", says, uri, None, "file")
    if found:
        return found[0]
    if kind := other_kind(head):
        return DeadLetter("unknown_format", kind, uri, None, "file")
    try:
        # The last character may be cut, so the end is not final.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        says = f"not UTF-8: {error.reason} at byte {error.start}"
        return DeadLetter("wrong_encoding", says, uri, None, "file")
    says = not_lines(head) or f"its structure is none of {', '.join(FORMATS)}"
    return DeadLetter("unknown_format", says, uri, None, "file")


def reader_of(uri: str, format_name: str = "auto") -> Reader | DeadLetter:
    """The reader of a file: by name, or by its content when the name is 'auto'; packed files have none by any name.

    Raises:
        UsageError: there is no such format.
    """
    check_format(format_name)
    try:
        head = head_of(uri)
    except OSError as error:
        return unreadable(uri, error)
    if format_name == "auto":
        return detect(head, uri)
    says = other_kind(head)
    return DeadLetter("unknown_format", says, uri, None, "file") if says else FORMATS[format_name]


def check_format(format_name: str) -> str:
    """Return the name of a format or 'auto'.

    Raises:
        UsageError: there is no such format.
    """
    if format_name != "auto" and format_name not in FORMATS:
        raise UsageError(
            f"format={format_name!r} is not known: allowed are auto, {', '.join(FORMATS)}", hint="try --format auto"
        )
    return format_name


def read_source(
    source: Source, format_name: str = "auto", options: ReadOptions | None = None
) -> Iterator[Conversation | DeadLetter]:
    """Read a file or a byte range of one; what cannot be read is yielded as dead letters.

    Raises:
        UsageError: there is no such format.
    """
    reader = reader_of(source.uri, format_name)
    if isinstance(reader, DeadLetter):
        # Of a file that is cut into ranges, one range reports for all.
        if source.start == 0:
            yield reader
        return
    yield from reader.read(source, options or ReadOptions())


def plan_sources(
    files: Sequence[tuple[str, int]], format_name: str = "auto", *, shard_bytes: int = SHARD_BYTES
) -> tuple[dict[str, list[list[Source]]], list[DeadLetter]]:
    """Shards by format, and a dead letter for each file that has none.

    Shards of a format whose layout is 'turn_lines' need a gathering job after them.

    Raises:
        UsageError: there is no such format.
    """
    letters: list[DeadLetter] = []
    held: dict[str, list[tuple[str, int]]] = {}
    for uri, size in files:
        reader = reader_of(uri, format_name)
        if isinstance(reader, DeadLetter):
            letters.append(reader)
        else:
            held.setdefault(reader.name, []).append((uri, size))
    return {
        name: list(plan_shards(of_name, FORMATS[name].layout, shard_bytes=shard_bytes))
        for name, of_name in held.items()
    }, letters


OnRead = Callable[[int], None]


def ignore(position: int) -> None:
    """A callback for callers that follow no progress."""


def read_sources(shard: Shard, options: ReadOptions, on_read: OnRead = ignore) -> Iterator[Conversation | DeadLetter]:
    """Yield what stands in a shard's sources.

    Args:
        on_read: called with the bytes of the shard that were read, growing up to the shard's size: by the blocks of
            formats of lines, by whole files of others.
    """
    before = reported = 0
    for source in shard.sources:
        for item in read_source(source, shard.format, options):
            if isinstance(item, Conversation):
                position = before + max(item.position - source.start, 0)
                if position > reported:
                    reported = position
                    on_read(position)
            yield item
        before = reported = max(reported, before + (source_bytes(source) or 0))
        on_read(reported)
