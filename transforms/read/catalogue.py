"""The formats that memlake reads: the one table of names, detection by content, and reading by name."""

import codecs
from collections.abc import Iterator, Sequence

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.opening import open_uri
from memlake.transforms.base.sources import SHARD_BYTES, plan_shards
from memlake.transforms.read.common.other_kinds import not_lines, other_kind
from memlake.transforms.read.common.reader import Reader
from memlake.transforms.read.formats import longmemeval, memsim, openai_chat
from memlake.transforms.read.formats.beam_chats import chats as beam_chats
from memlake.transforms.read.formats.locomo import conversations as locomo
from memlake.transforms.read.formats.membench import trajectories as membench
from memlake.transforms.read.formats.memlake_jsonl import conversations as memlake_jsonl
from memlake.transforms.read.formats.memlake_jsonl import units as memlake_units
from memlake.transforms.read.formats.personamem import chats as personamem
from memlake.transforms.read.formats.prefeval import chats as prefeval

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
HEAD_BYTES = 64 * 1024


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
        with open_uri(uri) as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        return DeadLetter("unreadable", f"cannot be read: {error.strerror or error}", uri, None, "file")
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
