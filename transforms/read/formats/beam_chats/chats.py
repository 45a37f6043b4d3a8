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

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, ReadOptions, Session, Source
from memlake.transforms.read.common.arrange import ROLES, Columns, arrange
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.peek import first_item, whole_of
from memlake.transforms.read.common.side_files import beside, first_readable, folders_of, stem_of
from memlake.transforms.read.formats.beam_chats.questions import is_questions, questions_beside
from memlake.transforms.text.clean import as_name, text_letter
from memlake.transforms.text.dates import label_of, parse_time

_MARK = "->->"
# A bracket that was open before the tag may be closed after it.
_TAG = re.compile(r"->->\s*\d+,\s*(?:\d+|N/A)[\s)\]]*", re.ASCII)
_TOPIC = frozenset({"category", "title", "subtopics"})
_CHAT = "chat"


class BeamChats:
    """The chats of BEAM's 100K, 500K and 1M splits."""

    name = "beam-chats"
    revision = 1
    layout: Layout = "file"

    def sniff(self, head: bytes) -> bool:
        """Whether it is a list of numbered batches of turns, or one of the two files that go with it."""
        first = first_item(head)
        return ("batch_number" in first and "turns" in first) or _is_side_file(whole_of(head))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG002
        """Yield the one conversation of a chat, with the questions that stand beside it."""
        batches, letters = list[Any](), list[DeadLetter]()
        for item in read_items(source.uri):
            if isinstance(item, DeadLetter):
                letters.append(item)
            elif item.index is None:
                letters.append(_side_file(item.value, source.uri))
            else:
                batches.append(item.value)
        yield from letters
        if batches or not letters:
            yield from self._conversation(batches, source.uri)

    def _conversation(self, batches: list[Any], uri: str) -> Iterator[Conversation | DeadLetter]:
        name = _name_of(uri)
        columns, tags, letters = _turns(batches, name, uri)
        yield from letters
        if not columns.text:
            error = f"conversation {name!r} has no turn to store"
            yield DeadLetter("empty_conversation", error, uri, None, "conversation", "skipped")
            return
        made, letters = arrange(columns, name, uri, self.name)
        if tags:
            error = f"{len(tags)} turns of conversation {name!r} ended in a tag of the source's generator: cut off"
            payload = json.dumps(tags, ensure_ascii=False)
            letters.append(DeadLetter("generator_tag", error, uri, None, "conversation", "kept", payload=payload))
        made.questions, more = questions_beside(made)
        yield from [*letters, *more]
        yield made


READER = BeamChats()


def _is_side_file(value: object) -> bool:
    return isinstance(value, dict) and (is_questions(value) or value.keys() >= _TOPIC)


def _side_file(value: object, uri: str) -> DeadLetter:
    """The letter of a file that is no chat: nothing is lost of one that is read with its chat or describes it."""
    if not _is_side_file(value):
        error = f"a chat is {type(value).__name__}, a list of batches is expected"
        return DeadLetter("malformed_record", error, uri, None, "file")
    chat = first_readable([beside(uri, f"{_CHAT}.json"), beside(uri, f"{_CHAT}.json", up=1)])
    if isinstance(value, dict) and is_questions(value) and chat is None:
        error = "questions without their chat: put chat.json beside them and ingest the folder"
        return DeadLetter("side_file", error, uri, None, "file")
    error = "no transcript: questions are read with the chat.json beside them, and a topic is not stored"
    return DeadLetter("side_file", error, uri, None, "file", "skipped")


def _name_of(uri: str) -> str:
    stem = stem_of(uri)
    return "-".join([*folders_of(uri)[-2:], *([] if stem == _CHAT else [stem])]) or _CHAT


def _turns(batches: list[Any], name: str, uri: str) -> tuple[Columns, dict[str, str], list[DeadLetter]]:
    columns, tags, letters = Columns(), dict[str, str](), list[DeadLetter]()
    for number, batch in enumerate(batches):
        groups = batch.get("turns") if isinstance(batch, dict) else None
        if not isinstance(groups, list):
            error = f"batch {number} of conversation {name!r} is not an object with a list of turns"
            letters.append(DeadLetter("malformed_record", error, uri, number, "session"))
            continue
        messages = [message for group in groups for message in (group if isinstance(group, list) else [group])]
        session = _session(number, batch, messages)
        for place, message in enumerate(messages):
            what = f"message {place} of batch {number} of conversation {name!r}"
            if not isinstance(message, dict):
                error = f"{what} is {type(message).__name__}, an object is expected"
                letters.append(DeadLetter("malformed_record", error, uri, number))
                continue
            content, tag = _without_tag(message.get("content"))
            if letter := text_letter(content, what, uri, number):
                letters.append(letter)
                continue
            turn_id = as_name(message.get("id"))
            if tag:
                tags[turn_id or f"message {place} of batch {number}"] = tag
            speaker = as_name(message.get("role")) or "unknown"
            role = ROLES.get(speaker, "participant")
            columns.add(content, speaker=speaker, role=role, turn_id=turn_id, session=session)
    return columns, tags, letters


def _session(number: int, batch: dict[str, Any], messages: list[Any]) -> Session:
    anchors = [item.get("time_anchor") for item in [batch, *messages] if isinstance(item, dict)]
    anchor = next((value for value in anchors if value is not None), None)
    at, zone_known = parse_time(anchor) or (None, False)
    return Session(f"s{number}", label_of(anchor), at, zone_known)


def _without_tag(content: Any) -> tuple[Any, str]:
    """A message's text without the generator's tag at its end, and what was cut off; others as they are."""
    if not isinstance(content, str):
        return content, ""
    end = len(content)
    # Found from the end, for a pattern that begins with blanks would be tried at each of them.
    while (start := content.rfind(_MARK, 0, end)) >= 0 and _TAG.fullmatch(content, start, end):
        end = len(content[:start].rstrip())
    return content[:end], content[end:]
