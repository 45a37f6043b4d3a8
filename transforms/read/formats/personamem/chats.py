"""PersonaMem: chats of invented people whose preferences change, with multiple-choice questions about them. Two layouts.

- v1: shared_contexts_SIZE.jsonl, a line {context id: [{role, content}]}, and questions_SIZE.csv beside it, where a question
  sees the first end_index_in_shared_context messages of its context. A conversation is CONTEXT-END: one for each end that
  questions have, for a longer one would hold turns from after the question. A context without questions is one conversation.
- v2: one file a chat, {metadata, chat_history [{role, content}]}, and benchmark.csv, val.csv or train.csv in
  benchmark/text/ two folders above, whose rows link the chat. A conversation is FOLDER-STEM after the chat's file.

System messages hold the persona from which chat and questions were made, and with it the answers. They are left out of the
turns, so that no index and no prompt sees them, and counted (`persona_left_out`); each begins a session. A user's "please
forget" has no reply: two turns of the user follow each other and both stay.

No copy of the data was at hand: the layouts are those of the benchmark's repositories.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Session, Source
from memlake.transforms.read.common.arrange import ROLES
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.json_lines import LINE_BLOCK_BYTES, read_objects
from memlake.transforms.read.common.reader import Exactly, Reader, bears, head_of, header_of, whole_of
from memlake.transforms.read.common.side_files import folders_of, stem_of
from memlake.transforms.read.formats.personamem import questions
from memlake.transforms.text.clean import as_name

# Contexts are named by a hash, which tells them from other objects of one key.
_CONTEXT = re.compile(r"[0-9a-f]{16,}", re.ASCII)
_HISTORY = "chat_history"


def _read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
    """Yield each history as far as its questions see it, with these questions."""
    head = b""
    with suppress(OSError):  # whoever reads on reports it
        head = head_of(source.uri)
    if any(bears(header_of(head), table) for table in questions.TABLES):
        yield questions.table_letter(source.uri)
        return
    rows = questions.rows_beside(source.uri, 2 if bears(whole_of(head), {_HISTORY: ...}) else 1)
    yield from rows.letters
    yield from _chat(rows, source.uri) if rows.version == 2 else _contexts(rows, source)


READER = Reader(
    name="personamem",
    revision=1,
    layout="file",
    read=_read,
    wholes=({_HISTORY: []},),
    lines=(Exactly({_CONTEXT.pattern: []}),),
    headers=questions.TABLES,
)


def _contexts(rows: questions.Rows, source: Source) -> Iterator[Conversation | DeadLetter]:
    for batch in read_objects(source, block_bytes=LINE_BLOCK_BYTES):
        yield from batch.letters
        for record, index in zip(batch.objects, batch.indices, strict=True):
            yield from _context(record, rows, source.uri, batch.numbers.of(index))


def _chat(rows: questions.Rows, uri: str) -> Iterator[Conversation | DeadLetter]:
    name = "-".join([*folders_of(uri)[-1:], stem_of(uri)])
    for item in read_items(uri):
        if isinstance(item, DeadLetter):
            yield item
        else:
            history = item.value.get(_HISTORY) if isinstance(item.value, dict) else None
            yield from _conversation(history, name, rows.rows, rows, uri, item.index)


def _context(record: dict[str, Any], rows: questions.Rows, uri: str, line: int) -> Iterator[Conversation | DeadLetter]:
    context = next(iter(record)) if len(record) == 1 else ""
    if not _CONTEXT.fullmatch(context) or not isinstance(history := record[context], list):
        error = "a line is not an object of one context's id and its messages"
        yield DeadLetter("malformed_record", error, uri, line, "conversation")
        return
    asked = [row for row in rows.rows if row.get(questions.CONTEXT) == context]
    ends = dict.fromkeys(row.get(questions.END, "") for row in asked)
    if not ends:
        yield from _conversation(history, context, [], rows, uri, line)
    for end in ends:
        of_end = [row for row in asked if row.get(questions.END, "") == end]
        if not end.isdecimal() or int(end) > len(history):
            error = f"{questions.END}={end!r} of {len(of_end)} questions is no number up to {len(history)} messages"
            yield DeadLetter("malformed_record", error, uri, line, "question")
            continue
        yield from _conversation(history[: int(end)], f"{context}-{int(end)}", of_end, rows, uri, line)


def _conversation(
    history: object, name: str, asked: list[dict[str, str]], rows: questions.Rows, uri: str, position: int | None
) -> Iterator[Conversation | DeadLetter]:
    if not isinstance(history, list):
        error = f"the history of conversation {name!r} is {type(history).__name__}, a list of messages is expected"
        yield DeadLetter("malformed_record", error, uri, position, "conversation")
        return
    draft = Draft(uri, position, format_name=READER.name, name=name)
    _add_turns(history, draft)
    made = draft.finish()
    # The source dates nothing, so an undated session is nothing to report.
    draft.letters = [letter for letter in draft.letters if letter.reason != "undated_session"]
    if made is not None:
        made.questions, letters = questions.questions_of(asked, made, rows)
        draft.letters += letters
    yield from draft.items(made)


def _add_turns(history: list[Any], draft: Draft) -> None:
    session, hidden = 0, 0
    for place, message in enumerate(history):
        what = f"message {place} of {draft}"
        if not draft.is_object(message, what):
            continue
        if ROLES.get(as_name(message.get("role")) or "") == "system":
            hidden += 1
            session += bool(draft.columns.text)
        elif draft.is_text(message.get("content"), what):
            of_session = Session(f"s{session}")
            draft.add_message(message["content"], message.get("role"), turn_id=str(place), session=of_session)
    if hidden:
        error = f"{hidden} system messages of {draft} hold the persona: left out of the turns"
        draft.report("persona_left_out", error, outcome="skipped")
