"""memlake's own units: memory items that another system extracted, for conversations that the lake holds already.

One unit is one object, on a line of its own or in one JSON list (`memlake sql QUERY --out FILE.json` writes such a list):

    {"conversation_id": "c1", "representation": "my-notes", "text": "Ana greets.", "kind": "note", "turn_ids": ["t1"],
     "speaker": "Ana", "attributes": {"model": "x"}}

`conversation_id`, `representation` and `text` are needed. `turn_ids` name the turns that the unit came from; those that
name none are left out and reported. `kind` is 'unit' by default. A unit has the date header of the session that all its
turns lie in, and none where they lie in several.

All units that a conversation has in a representation stand in one file: together they are the part that an ingest
replaces, in the file's order. A file's units are in memory at a time. Turns, questions and other representations stay as
they are; new turns of a conversation make its units stale. Names of representations that are made here are refused.
"""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, ReadOptions, Source
from memlake.transforms.base.opening import open_uri
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.json_lines import LINE_BLOCK_BYTES, read_objects
from memlake.transforms.read.common.peek import first_item, lines_of
from memlake.transforms.read.formats.memlake_jsonl.extras import supplied_unit
from memlake.transforms.text.clean import as_name

_HEAD_BYTES = 4096


class MemlakeUnits:
    """One unit an object; yields conversations without turns, one for each conversation of a file, at its end."""

    name = "memlake-units"
    revision = 1
    layout: Layout = "file"

    def sniff(self, head: bytes) -> bool:
        """Whether an object has `conversation_id`, `representation` and `text`."""
        return any(is_unit(record) for record in (*lines_of(head), first_item(head)))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG002
        """Yield what could not be read, then the conversations in the order in which they first appear."""
        held: dict[str, Conversation] = {}
        for item in _records(source):
            if isinstance(item, DeadLetter):
                yield item
                continue
            record, position = item
            conversation_id = as_name(record.get("conversation_id"))
            if conversation_id is None:
                error = f"a unit without conversation_id={record.get('conversation_id')!r:.100}"
                yield DeadLetter("malformed_record", error, source.uri, position, "unit")
                continue
            if conversation_id not in held:
                held[conversation_id] = Conversation(conversation_id, source.uri, self.name)
            made = held[conversation_id]
            what = f"unit {len(made.supplied)} of conversation {conversation_id!r}"
            unit, letters = supplied_unit(record, what, source.uri)
            for letter in letters:
                letter.position = position
            yield from letters
            if unit is not None:
                made.supplied.append(unit)
        yield from (made for made in held.values() if made.supplied)


READER = MemlakeUnits()


def is_unit(record: dict[str, Any]) -> bool:
    """Whether an object is a unit for a stored conversation, and not a turn or a conversation."""
    return {"conversation_id", "representation", "text"} <= record.keys() and "turns" not in record


def _records(source: Source) -> Iterator[tuple[dict[str, Any], int | None] | DeadLetter]:
    """The objects with their positions: items of a list, or lines."""
    try:
        with open_uri(source.uri) as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        yield DeadLetter("unreadable", f"cannot be read: {error.strerror or error}", source.uri, None, "file")
        return
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"[":
        for batch in read_objects(source, "unit", LINE_BLOCK_BYTES):
            yield from batch.letters
            yield from zip(batch.objects, map(batch.numbers.of, batch.indices), strict=True)
        return
    for item in read_items(source.uri):
        if isinstance(item, DeadLetter):
            yield item
        elif isinstance(item.value, dict):
            yield item.value, item.index
        else:
            says = f"an item is {type(item.value).__name__}, an object is expected"
            yield DeadLetter("malformed_record", says, source.uri, item.index, "unit")
