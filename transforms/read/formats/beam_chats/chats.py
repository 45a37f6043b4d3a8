"""BEAM ("Beyond a Million Tokens"): long chats in dated batches, with questions of ten abilities in a file beside each.

A chat is a folder N of a split: N/chat.json [{batch_number, time_anchor, turns [[{role, id, content, time_anchor?}]]}] and
its questions in N/probing_questions.json or N/probing_questions/probing_questions.json. Whoever reads chat.json reads the
questions too; the file of questions and topic.json are recognised and passed over by themselves (`side_file`).

A conversation is named SPLIT-N, after its two folders, so that splits do not clash in one corpus; a file that is not called
chat.json (the source has cut versions too) is SPLIT-N-STEM. Sessions are the batches, 's0', 's1', ...; the first time anchor
in a batch dates it where the batch has none of its own.

The source's generator left its plan in the messages: they end in a tag such as '->-> 1,1', which tells the order in which
facts were planned. It is cut off with the blanks before it, so a turn's text is a leading part of the message and offsets
into it hold in the source. One kept dead letter a conversation counts the tags (`generator_tag`) and holds them as payload,
{turn_id: what was cut}.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Session, Source
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import items_of
from memlake.transforms.read.common.reader import Reader, bears
from memlake.transforms.read.common.side_files import beside, first_readable, folders_of, stem_of
from memlake.transforms.read.formats.beam_chats.questions import QUESTIONS, questions_beside
from memlake.transforms.text.clean import as_name
from memlake.transforms.text.dates import label_of, parse_time

_MARK = "->->"
# A bracket that was open before the tag may be closed after it.
_TAG = re.compile(r"->->\s*\d+,\s*(?:\d+|N/A)[\s)\]]*", re.ASCII)
_TOPIC = {"category": ..., "title": ..., "subtopics": ...}
_CHAT = "chat"


def _read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
    """Yield the one conversation of a chat, with the questions that stand beside it."""
    batches, letters = list[Any](), list[DeadLetter]()
    for item in items_of(source.uri, letters):
        if item.index is None:
            letters.append(_side_file(item.value, source.uri))
        else:
            batches.append(item.value)
    yield from letters
    if batches or not letters:
        yield from _conversation(batches, source.uri)


READER = Reader(
    name="beam-chats",
    revision=1,
    layout="file",
    read=_read,
    items=({"batch_number": ..., "turns": ...},),
    wholes=(QUESTIONS, _TOPIC),
)


def _conversation(batches: list[Any], uri: str) -> Iterator[Conversation | DeadLetter]:
    draft = Draft(uri, format_name=READER.name, name=_name_of(uri))
    tags = _add_turns(batches, draft)
    made = draft.finish()
    if made is not None:
        if tags:
            error = f"{len(tags)} turns of {draft} ended in a tag of the source's generator: cut off"
            payload = json.dumps(tags, ensure_ascii=False)
            draft.report("generator_tag", error, "conversation", "kept", payload)
        made.questions, letters = questions_beside(made)
        draft.letters += letters
    yield from draft.items(made)


def _side_file(value: object, uri: str) -> DeadLetter:
    """The letter of a file that is no chat: nothing is lost of one that is read with its chat or describes it."""
    is_questions = bears(value, QUESTIONS)
    if not is_questions and not bears(value, _TOPIC):
        error = f"a chat is {type(value).__name__}, a list of batches is expected"
        return DeadLetter("malformed_record", error, uri, None, "file")
    chat = first_readable([beside(uri, f"{_CHAT}.json"), beside(uri, f"{_CHAT}.json", up=1)])
    if is_questions and chat is None:
        error = "questions without their chat: put chat.json beside them and ingest the folder"
        return DeadLetter("side_file", error, uri, None, "file")
    error = "no transcript: questions are read with the chat.json beside them, and a topic is not stored"
    return DeadLetter("side_file", error, uri, None, "file", "skipped")


def _name_of(uri: str) -> str:
    stem = stem_of(uri)
    return "-".join([*folders_of(uri)[-2:], *([] if stem == _CHAT else [stem])]) or _CHAT


def _add_turns(batches: list[Any], draft: Draft) -> dict[str, str]:
    """Add the messages of all batches; return the tags that were cut off, by the turn's id or place."""
    tags: dict[str, str] = {}
    for number, batch in enumerate(batches):
        draft.position = number
        groups = batch.get("turns") if isinstance(batch, dict) else None
        if not isinstance(groups, list):
            error = f"batch {number} of {draft} is not an object with a list of turns"
            draft.report("malformed_record", error, "session")
            continue
        messages = [message for group in groups for message in (group if isinstance(group, list) else [group])]
        session = _session(number, batch, messages)
        for place, message in enumerate(messages):
            what = f"message {place} of batch {number}"
            if not draft.is_object(message, f"{what} of {draft}"):
                continue
            content, tag = _without_tag(message.get("content"))
            if not draft.is_text(content, f"{what} of {draft}"):
                continue
            turn_id = as_name(message.get("id"))
            if tag:
                tags[turn_id or what] = tag
            draft.add_message(content, message.get("role"), turn_id=turn_id, session=session)
    draft.position = None
    return tags


def _session(number: int, batch: dict[str, Any], messages: list[Any]) -> Session:
    anchors = [item.get("time_anchor") for item in [batch, *messages] if isinstance(item, dict)]
    anchor = next((value for value in anchors if value is not None), None)
    return Session(f"s{number}", label_of(anchor), *(parse_time(anchor) or (None, False)))


def _without_tag(content: Any) -> tuple[Any, str]:
    """A message's text without the generator's tag at its end, and what was cut off; others as they are."""
    if not isinstance(content, str):
        return content, ""
    end = len(content)
    # Found from the end, for a pattern that begins with blanks would be tried at each of them.
    while (start := content.rfind(_MARK, 0, end)) >= 0 and _TAG.fullmatch(content, start, end):
        end = len(content[:start].rstrip())
    return content[:end], content[end:]
