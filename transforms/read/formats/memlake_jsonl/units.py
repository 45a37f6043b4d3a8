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

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.read.common.draft import Letters
from memlake.transforms.read.common.json_items import Item, read_items
from memlake.transforms.read.common.json_lines import LINE_BLOCK_BYTES, read_objects
from memlake.transforms.read.common.reader import Reader, head_of, unreadable
from memlake.transforms.read.formats.memlake_jsonl.extras import supplied_unit
from memlake.transforms.text.clean import as_name

_UNIT = {"conversation_id": ..., "representation": ..., "text": ..., "turns": None}


def _read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
    """Yield what could not be read, then the conversations in the order in which they first appear."""
    held: dict[str, Conversation] = {}
    for item in _items(source):
        if isinstance(item, DeadLetter):
            yield item
            continue
        record, letters = item.value, Letters(source.uri, item.index)
        if not isinstance(record, dict):
            letters.report("malformed_record", f"an item is {type(record).__name__}, an object is expected", "unit")
        elif (conversation_id := as_name(record.get("conversation_id"))) is None:
            error = f"a unit without conversation_id={record.get('conversation_id')!r:.100}"
            letters.report("malformed_record", error, "unit")
        else:
            made = held.setdefault(conversation_id, Conversation(conversation_id, source.uri, READER.name))
            what = f"unit {len(made.supplied)} of conversation {conversation_id!r}"
            unit = supplied_unit(record, what, letters)
            if unit is not None:
                made.supplied.append(unit)
        yield from letters.letters
    yield from (made for made in held.values() if made.supplied)


READER = Reader(name="memlake-units", revision=1, layout="file", read=_read, items=(_UNIT,), lines=(_UNIT,))


def _items(source: Source) -> Iterator[Item | DeadLetter]:
    """The items of a list, or the objects of lines by their numbers."""
    try:
        head = head_of(source.uri)
    except OSError as error:
        yield unreadable(source.uri, error)
        return
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
        yield from read_items(source.uri)
        return
    for batch in read_objects(source, "unit", LINE_BLOCK_BYTES):
        yield from batch.letters
        yield from map(Item, map(batch.numbers.of, batch.indices), batch.objects)
