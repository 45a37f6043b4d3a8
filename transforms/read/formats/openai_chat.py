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

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, ReadOptions, Source
from memlake.transforms.read.common.arrange import KIND_OF_ROLE, ROLES, Columns, arrange
from memlake.transforms.read.common.column_hash import column_hash
from memlake.transforms.read.common.json_lines import LINE_BLOCK_BYTES, read_objects
from memlake.transforms.read.common.peek import lines_of
from memlake.transforms.text.clean import as_name, content_elsewhere, text_letter

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
# Where other layouts keep what is said.
_ELSEWHERE = ("text", "turns", "messages")


class OpenAIChat:
    """One chat a line."""

    name = "openai-chat"
    revision = 1
    layout: Layout = "conversation_lines"

    def sniff(self, head: bytes) -> bool:
        """Whether a line is an object with a list of `messages` that have a role."""
        return any(
            isinstance(messages := line.get("messages"), list)
            and any(isinstance(message, dict) and "role" in message for message in messages)
            for line in lines_of(head)
        )

    def read(self, source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG002
        """Yield one conversation a line, and what could not be read."""
        for batch in read_objects(source, block_bytes=LINE_BLOCK_BYTES):
            yield from batch.letters
            for record, index in zip(batch.objects, batch.indices, strict=True):
                made, letters = self._conversation(record, source.uri)
                for letter in letters:
                    letter.position = batch.numbers.of(index)
                    yield letter
                if made is not None:
                    made.position = batch.offset
                    yield made

    def _conversation(self, record: dict[str, Any], uri: str) -> tuple[Conversation | None, list[DeadLetter]]:
        messages = record.get("messages")
        if not isinstance(messages, list):
            error = f"a conversation without a list of messages: messages={messages!r:.100}"
            return None, [DeadLetter("malformed_record", error, uri, None, "conversation")]
        letters: list[DeadLetter] = []
        columns = _plain(messages)
        if columns is None:
            columns = Columns()
            for place, message in enumerate(messages):
                _add(columns, message, f"message {place}", uri, letters)
        if not columns.text:
            error = "the conversation has no message to store"
            return None, [*letters, DeadLetter("empty_conversation", error, uri, None, "conversation", "skipped")]
        name = column_hash("openai-chat", (columns.role, columns.speaker, columns.kind, columns.text))
        made, more = arrange(columns, name, uri, self.name)
        return made, letters + more


READER = OpenAIChat()


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


def _add(columns: Columns, message: Any, what: str, uri: str, letters: list[DeadLetter]) -> None:
    name = as_name(message.get("role")) if isinstance(message, dict) else None
    if name is None:
        error = f"{what} is not an object with a role: {message!r:.60}"
        letters.append(DeadLetter("malformed_record", error, uri))
        return
    role = ROLES.get(name, "participant")
    speaker = as_name(message.get("name")) or name
    calls = message.get("tool_calls") or message.get("function_call")
    content, without_text = _content(message.get("content"))
    if without_text:
        error = f"{what} has parts without text: {', '.join(without_text)}"
        letters.append(DeadLetter("part_without_text", error, uri, outcome="skipped"))
    if content is None and not calls and not without_text and (held := content_elsewhere(message, _ELSEWHERE)):
        error = f"{what} has no content, it has {held}={message[held]!r:.60}"
        letters.append(DeadLetter("malformed_record", error, uri))
        return
    letter = text_letter(content, what, uri, None)
    if letter is None:
        columns.add(str(content), speaker=speaker, role=role, kind=KIND_OF_ROLE.get(role, "message"))
    elif letter.outcome == "dropped" or not calls:
        letters.append(letter)
    if calls:
        listed = calls if isinstance(calls, list) else [calls]
        columns.add(json.dumps(listed, ensure_ascii=False), speaker=speaker, role=role, kind="tool_call")


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
