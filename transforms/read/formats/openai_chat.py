"""OpenAI chat JSONL: one {"messages": [...]} a line, as fine-tuning files and request logs have it.

Policy. A message's `content` is stored when it is a string; the text parts of a list are joined by one line break, and
parts without text (images, audio, files) are left out and reported. A message that calls tools lands as its text, where
it has any, then as one turn of kind tool_call whose text is the calls as JSON; the arguments stay the string that they
are. Replies of tools have kind tool_result. `developer` counts as system, a legacy `function` message as tool. The speaker
is the message's `name`, else its role. There are no dates and no ids: the conversation's id is derived from its turns.
"""

import json
from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter
from memlake.transforms.base.ids import column_hash
from memlake.transforms.read.common.arrange import KIND_OF_ROLE, ROLES, Columns
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_lines import each_line
from memlake.transforms.read.common.reader import Reader
from memlake.transforms.text.clean import as_name, content_elsewhere, listed, text_fault

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
# Where other layouts keep what is said.
_ELSEWHERE = ("text", "turns", "messages")
_NO_TEXT = ("null_text", "empty_text")


def _conversation(record: dict[str, Any], uri: str) -> Iterator[Conversation | DeadLetter]:
    messages = record.get("messages")
    if not isinstance(messages, list):
        error = f"a conversation without a list of messages: messages={messages!r:.100}"
        yield DeadLetter("malformed_record", error, uri, None, "conversation")
        return
    draft = Draft(uri, format_name=READER.name, name="")
    plain = _plain(messages)
    if plain is None:
        for place, message in enumerate(messages):
            _add(draft, message, f"message {place}")
    else:
        draft.columns = plain
    made, turns = None, draft.columns
    if turns.text:
        draft.name = column_hash(READER.name, (turns.role, turns.speaker, turns.kind, turns.text))
        made = draft.finish()
    else:
        error = "the conversation has no message to store"
        draft.report("empty_conversation", error, "conversation", "skipped")
    yield from draft.items(made)


READER = Reader(
    name="openai-chat",
    revision=1,
    layout="conversation_lines",
    read=each_line(_conversation),
    lines=({"messages": [{"role": ...}]},),
)


def _plain(messages: list[Any]) -> Columns | None:
    """Columns where every message is plain text under a known role, which is nearly always; else None."""
    try:
        text = [message["content"] for message in messages]
        role = [ROLES[message["role"]] for message in messages]
        odd = any("tool_calls" in m or "function_call" in m or "name" in m for m in messages)
    except (TypeError, KeyError):
        return None
    if odd or not set(map(type, text)) <= {str} or any(not words or words.isspace() for words in text):
        return None
    count = len(text)
    return Columns(
        text, [message["role"] for message in messages], role, [KIND_OF_ROLE.get(part, "message") for part in role],
        list(map(len, text)), [None] * count, [None] * count, [None] * count, [None] * count, [None] * count,
        [False] * count,
    )  # fmt: skip


def _add(draft: Draft, message: Any, what: str) -> None:
    name = as_name(message.get("role")) if isinstance(message, dict) else None
    if name is None:
        draft.report("malformed_record", f"{what} is not an object with a role: {message!r:.60}")
        return
    role = ROLES.get(name, "participant")
    speaker = as_name(message.get("name")) or name
    calls = message.get("tool_calls") or message.get("function_call")
    content, without_text = _content(message.get("content"))
    if without_text:
        error = f"{what} has parts without text: {', '.join(without_text)}"
        draft.report("part_without_text", error, outcome="skipped")
    if content is None and not calls and not without_text and (held := content_elsewhere(message, _ELSEWHERE)):
        draft.report("malformed_record", f"{what} has no content, it has {held}={message[held]!r:.60}")
        return
    # A call of tools needs no words beside it.
    if not (calls and text_fault(content) in _NO_TEXT) and draft.is_text(content, what):
        draft.columns.add(content, speaker=speaker, role=role, kind=KIND_OF_ROLE.get(role, "message"))
    if calls:
        as_json = json.dumps(listed(calls), ensure_ascii=False)
        draft.columns.add(as_json, speaker=speaker, role=role, kind="tool_call")


def _content(content: object) -> tuple[object, list[str]]:
    """The text of a content, and the types of the parts that have none."""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return content, []
    texts, without_text = [], []
    for part in content:
        kind = part.get("type", "text") if isinstance(part, dict) else "text"
        text = part if isinstance(part, str) else None
        if isinstance(part, dict) and isinstance(kind, str):
            text = part.get(_TEXT_PARTS.get(kind, ""))
        if isinstance(text, str):
            texts.append(text)
        else:
            without_text.append(str(kind))
    return "\n".join(texts) if texts else None, without_text
