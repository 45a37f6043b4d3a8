"""MemBench: what a user tells (third person) or says to an assistant (first person), with multiple-choice questions.

A file nests {task: {subcategory: [{tid, message_list, QA}]}}, to whatever depth, or is the list itself; QA is {question,
answer, target_step_id, choices {A..D}, ground_truth, time}, one or a list of them. Two layouts of message_list:

- flat, third person: {mid, message, time, place} or a bare string; turn 'MID', by its place where there is no mid;
- nested, first person: sessions of {sid, user_message, assistant_message, time, place} (also `user`, `assistant` and
  `agent`); turns 'SESSION:SID:user' and 'SESSION:SID:assistant'. Steps that stand in no session are of session 0.

target_step_id names steps: [mid, ...] or [[sid, session], ...]. A step of the first person is an exchange, and the source
does not say which half holds what is asked for, so both of its turns are gold.

`tid` restarts, so a conversation is STEM-KEYS-tid after the file and the keys above it. The category is the task: the key
above the subcategory, or the file's name where there is one key alone. Flat messages have a session a day, nested ones those
of the source; each is dated by its first time. The place of a message is an attribute of the questions.

No copy of the data was at hand: the layout is that of the benchmark's documentation.
"""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, Question, ReadOptions, Source
from memlake.transforms.read.common.arrange import arrange, unique_ids
from memlake.transforms.read.common.choice_question import choice_question
from memlake.transforms.read.common.dated_messages import places_of, time_letter
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.peek import whole_of
from memlake.transforms.read.common.side_files import stem_of
from memlake.transforms.read.formats.membench.steps import Steps, steps_of
from memlake.transforms.text.clean import as_name, text_letter

_DEEPEST = 8


class MemBench:
    """Both points of view of MemBench."""

    name = "membench"
    revision = 1
    layout: Layout = "file"

    def sniff(self, head: bytes) -> bool:
        """Whether the first list in it, however deep, holds objects with a message_list and a QA."""
        whole = value = whole_of(head)
        for _ in range(_DEEPEST):
            if isinstance(value, dict) and value and "message_list" not in value:
                value = next(iter(value.values()))
            elif isinstance(value, list) and value:
                value = value[0]
        # Of a long record the head may hold the messages alone, as it may of MemSim's, which stand in a list.
        cut = isinstance(value, dict) and isinstance(whole, dict) and value.keys() == {"tid", "message_list"}
        return _is_record(value) or cut

    def read(self, source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG002
        """Yield one conversation a record."""
        for item in read_items(source.uri):
            if isinstance(item, DeadLetter):
                yield item
                continue
            for keys, record in _records(item.value, (stem_of(source.uri),)):
                yield from self._conversation(record, keys, item.index, source.uri)

    def _conversation(
        self, record: object, keys: tuple[str, ...], index: int | None, uri: str
    ) -> Iterator[Conversation | DeadLetter]:
        tid = as_name(record.get("tid")) if isinstance(record, dict) else None
        if not isinstance(record, dict) or tid is None or not isinstance(record.get("message_list"), list):
            error = f"a record of {'-'.join(keys)} is not an object with a tid and a message_list"
            yield DeadLetter("malformed_record", error, uri, index, "conversation")
            return
        name = "-".join([*keys, tid])
        steps, letters = steps_of(record["message_list"], name, uri, index)
        yield from letters
        if not steps.columns.text:
            error = f"conversation {name!r} has no turn to store"
            yield DeadLetter("empty_conversation", error, uri, index, "conversation", "skipped")
            return
        made, letters = arrange(steps.columns, name, uri, self.name, index)
        made.questions, more = _questions(record, made, steps, keys, index)
        yield from [*letters, *more]
        yield made


READER = MemBench()


def _is_record(value: object) -> bool:
    return isinstance(value, dict) and "message_list" in value and "QA" in value


def _records(value: object, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Each record with the keys above it; what is neither a record nor above one is given as it is."""
    if isinstance(value, dict) and "message_list" not in value and len(keys) < _DEEPEST:
        for key, inner in value.items():
            yield from _records(inner, (*keys, key))
    elif isinstance(value, list):
        for record in value:
            yield keys, record
    else:
        yield keys, value


def _questions(
    record: dict[str, Any], conversation: Conversation, steps: Steps, keys: tuple[str, ...], index: int | None
) -> tuple[list[Question], list[DeadLetter]]:
    questions, names, letters = list[Question](), list[str](), list[DeadLetter]()
    messages = record["message_list"]
    flat = [one for item in messages for one in (item if isinstance(item, list) else [item])]
    shared = {**places_of(flat), "subcategory": keys[-1]}
    asked = record.get("QA")
    for position, row in enumerate(asked if isinstance(asked, list) else [asked]):
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
        question = choice_question(row, steps.gold_of(row.get("target_step_id")))
        question.position, question.category = position, keys[-2] if len(keys) > 1 else keys[-1]
        question.attributes |= shared
        questions.append(question)
    for question, name in zip(questions, unique_ids(names), strict=True):
        question.question_id = f"{conversation.conversation_id}:{name}"
    return questions, letters
