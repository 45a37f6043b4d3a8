"""LongMemEval: a list of questions, each with its own haystack of dated chat sessions.

Every question is its own conversation, named by its question_id. The source's session ids tell where the answer lies, so
sessions are renamed by their place: 's0', 's1', ...; a turn is 's3:t5'. The order of the haystack is kept as given, which
is by day but not always by time within one. `_abs` at the end of a question's id marks an abstention question; its type is
its category all the same. The benchmark's own retrieval metrics leave those out, so the turns that they name have the
status 'abstention' and are no gold.
"""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question, Session
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import each_item
from memlake.transforms.read.common.reader import Reader
from memlake.transforms.text.clean import as_answer, as_name, listed
from memlake.transforms.text.dates import label_of, parse_time


def _conversation(record: object, index: int | None, uri: str) -> Iterator[Conversation | DeadLetter]:
    name = as_name(record.get("question_id")) if isinstance(record, dict) else None
    if not isinstance(record, dict) or name is None or not isinstance(record.get("haystack_sessions"), list):
        error = "an item is not an object with question_id and a list of haystack_sessions"
        yield DeadLetter("malformed_record", error, uri, index, "conversation")
        return
    draft = Draft(uri, index, format_name=READER.name, name=name)
    gold = _add_turns(record, draft)
    made = draft.finish()
    if made is not None and draft.is_text(record.get("question"), f"question {name!r}", "question"):
        made.questions = [_question(record, name, gold)]
    yield from draft.items(made)


READER = Reader(
    name="longmemeval",
    revision=1,
    layout="file",
    read=each_item(_conversation),
    items=({"question_id": ..., "question_type|haystack_.*": ...},),
)


def _add_turns(record: dict[str, Any], draft: Draft) -> list[str]:
    """Add the turns of all sessions; return the ids of those that have the answer."""
    gold: list[str] = []
    dates = record.get("haystack_dates")
    dates = dates if isinstance(dates, list) else []
    for number, messages in enumerate(record["haystack_sessions"]):
        date = dates[number] if number < len(dates) else None
        session = Session(f"s{number}", label_of(date), *(parse_time(date) or (None, False)))
        for place, message in enumerate(messages if isinstance(messages, list) else [messages]):
            turn_id = f"s{number}:t{place}"
            what = f"turn {turn_id} of {draft}"
            if not draft.is_object(message, what) or not draft.is_text(message.get("content"), what):
                continue
            draft.add_message(message["content"], message.get("role"), turn_id=turn_id, session=session)
            if message.get("has_answer") is True:
                gold.append(turn_id)
    return gold


def _question(record: dict[str, Any], name: str, gold: list[str]) -> Question:
    answer = as_answer(record.get("answer"))
    asked_at = parse_time(record.get("question_date"))
    answerable = not name.endswith("_abs")
    status = "valid" if answerable else "abstention"
    return Question(
        question_id=name,
        position=0,
        text=record["question"],
        answer=answer,
        category=as_name(record.get("question_type")) or "",
        answers=listed(answer),
        evidence=[(turn_id, turn_id, status) for turn_id in gold],
        asked_at=asked_at[0] if asked_at else None,
        answerable=answerable,
        attributes=_gold_sessions(record),
    )


def _gold_sessions(record: dict[str, Any]) -> dict[str, object]:
    """The answer's sessions under their opaque names."""
    ids, gold = record.get("haystack_session_ids"), record.get("answer_session_ids")
    if not isinstance(ids, list) or not isinstance(gold, list):
        return {}
    return {"answer_sessions": [f"s{number}" for number, session_id in enumerate(ids) if session_id in gold]}
