"""MemSim (MemDaily): a user's dated messages, trajectory by trajectory, with multiple-choice questions about them.

A file is a list of {tid, message_list [{mid, message, time, place}], question_list [{qid, question, answer, target_step_id
[mid], choices {A..D}, ground_truth, time}]}. `tid` and `qid` restart in every file, so a conversation is STEM-tid after the
file's name, and a question STEM-tid:qid. The category is the kind in a file's name, NN_KIND_ENTITY; the file says it nowhere
else.

Every message is the user's. A day is a session. Turns are ordered by time, as everywhere where each has one; the source
lists some trajectories in another order. The place of a message is no part of its text: it is an attribute of the questions.
"""

import re
from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, Question, ReadOptions, Source
from memlake.transforms.read.common.arrange import Columns, arrange, unique_ids
from memlake.transforms.read.common.choice_question import choice_question
from memlake.transforms.read.common.dated_messages import add_said, places_of, time_letter
from memlake.transforms.read.common.gold import gold_of
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.peek import first_item
from memlake.transforms.read.common.side_files import stem_of
from memlake.transforms.text.clean import as_name, text_letter

_FILE = re.compile(r"\d+_(.+)_([^_]+)", re.ASCII)


class MemSim:
    """The files of messages and questions of MemSim."""

    name = "memsim"
    revision = 1
    layout: Layout = "file"

    def sniff(self, head: bytes) -> bool:
        """Whether it is a list of objects with a message_list and a question_list."""
        first = first_item(head)
        return "message_list" in first and "question_list" in first

    def read(self, source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG002
        """Yield one conversation a trajectory, one at a time."""
        stem = stem_of(source.uri)
        for item in read_items(source.uri):
            if isinstance(item, DeadLetter):
                yield item
            else:
                yield from self._conversation(item.value, item.index, stem, source.uri)

    def _conversation(
        self, record: object, index: int | None, stem: str, uri: str
    ) -> Iterator[Conversation | DeadLetter]:
        tid = as_name(record.get("tid")) if isinstance(record, dict) else None
        if not isinstance(record, dict) or tid is None or not isinstance(record.get("message_list"), list):
            error = "a trajectory is not an object with a tid and a message_list"
            yield DeadLetter("malformed_record", error, uri, index, "conversation")
            return
        name = f"{stem}-{tid}"
        columns, letters = _turns(record["message_list"], name, uri, index)
        yield from letters
        if not columns.text:
            error = f"conversation {name!r} has no turn to store"
            yield DeadLetter("empty_conversation", error, uri, index, "conversation", "skipped")
            return
        made, letters = arrange(columns, name, uri, self.name, index)
        made.questions, more = _questions(record, made, stem, index)
        yield from [*letters, *more]
        yield made


READER = MemSim()


def _turns(messages: list[Any], name: str, uri: str, index: int | None) -> tuple[Columns, list[DeadLetter]]:
    columns, letters = Columns(), list[DeadLetter]()
    for place, message in enumerate(messages):
        what = f"message {place} of conversation {name!r}"
        if not isinstance(message, dict):
            error = f"{what} is {type(message).__name__}, an object is expected"
            letters.append(DeadLetter("malformed_record", error, uri, index))
            continue
        if letter := text_letter(message.get("message"), what, uri, index):
            letters.append(letter)
            continue
        time = message.get("time")
        letters += filter(None, [time_letter(time, what, uri, index)])
        add_said(columns, message["message"], time, role="user", turn_id=as_name(message.get("mid")))
    return columns, letters


def _questions(
    record: dict[str, Any], conversation: Conversation, stem: str, index: int | None
) -> tuple[list[Question], list[DeadLetter]]:
    questions, names, letters = list[Question](), list[str](), list[DeadLetter]()
    turns = set(conversation.turn_id)
    kind = _FILE.fullmatch(stem)
    shared = {**places_of(record["message_list"]), **({"entity": kind[2]} if kind else {})}
    rows = record.get("question_list")
    for position, row in enumerate(rows if isinstance(rows, list) else [] if rows is None else [rows]):
        what = f"question {position} of conversation {conversation.conversation_id!r}"
        if not isinstance(row, dict):
            error = f"{what} is {type(row).__name__}, an object is expected"
            letters.append(DeadLetter("malformed_record", error, conversation.source_uri, index, "question"))
            continue
        if letter := text_letter(row.get("question"), what, conversation.source_uri, index, "question"):
            letters.append(letter)
            continue
        letters += filter(None, [time_letter(row.get("time"), what, conversation.source_uri, index, "question")])
        names.append((as_name(row.get("qid")) or f"q{position}").replace(":", "%3A"))
        question = choice_question(row, gold_of(row.get("target_step_id"), turns))
        question.position, question.category = position, kind[1] if kind else ""
        question.attributes |= shared
        questions.append(question)
    for question, name in zip(questions, unique_ids(names), strict=True):
        question.question_id = f"{conversation.conversation_id}:{name}"
    return questions, letters
