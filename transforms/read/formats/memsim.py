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

from memlake.transforms.base.conversation import Conversation, DeadLetter
from memlake.transforms.read.common.arrange import gold_of
from memlake.transforms.read.common.choice_questions import choice_questions
from memlake.transforms.read.common.dated_messages import add_said, places_of
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import each_item
from memlake.transforms.read.common.reader import Reader
from memlake.transforms.read.common.side_files import stem_of
from memlake.transforms.text.clean import as_name, listed

_FILE = re.compile(r"\d+_(.+)_([^_]+)", re.ASCII)


def _conversation(record: object, index: int | None, uri: str) -> Iterator[Conversation | DeadLetter]:
    tid = as_name(record.get("tid")) if isinstance(record, dict) else None
    if not isinstance(record, dict) or tid is None or not isinstance(record.get("message_list"), list):
        error = "a trajectory is not an object with a tid and a message_list"
        yield DeadLetter("malformed_record", error, uri, index, "conversation")
        return
    stem = stem_of(uri)
    draft = Draft(uri, index, format_name=READER.name, name=f"{stem}-{tid}")
    _add_turns(record["message_list"], draft)
    made = draft.finish()
    if made is not None:
        kind = _FILE.fullmatch(stem)
        turns = set(made.turn_id)
        made.questions = choice_questions(
            listed(record.get("question_list")),
            draft,
            category=kind[1] if kind else "",
            attributes={**places_of(record["message_list"]), **({"entity": kind[2]} if kind else {})},
            gold_of=lambda given: gold_of(given, turns),
        )
    yield from draft.items(made)


READER = Reader(
    name="memsim",
    revision=1,
    layout="file",
    read=each_item(_conversation),
    items=({"message_list": ..., "question_list": ...},),
)


def _add_turns(messages: list[Any], draft: Draft) -> None:
    for place, message in enumerate(messages):
        what = f"message {place} of {draft}"
        if draft.is_object(message, what) and draft.is_text(message.get("message"), what):
            time = message.get("time")
            draft.check_time(time, what)
            add_said(draft.columns, message["message"], time, role="user", turn_id=as_name(message.get("mid")))
