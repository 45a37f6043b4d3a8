"""BEAM's questions: {ability: [{question, answer, rubric, source_chat_ids, ...}]} in a file beside the chat.

The answer's key depends on the ability; instruction_following and preference_following have none, only a rubric. The rubric
and whatever else the source says stand in the question's attributes.

source_chat_ids name messages. Where they come as {role: [ids]}, the roles are kept as `evidence_roles`, {turn_id: role}:
original_info is stale and updated_info current, first_statement and second_statement contradict each other, first_event
comes before second_event. A turn of two roles has both, joined by a comma. An id inside a list of its own counts like any
other (`normalised`).
"""

from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question
from memlake.transforms.read.common.arrange import gold_of
from memlake.transforms.read.common.draft import Letters
from memlake.transforms.read.common.json_items import items_of
from memlake.transforms.read.common.side_files import beside, first_readable
from memlake.transforms.text.clean import as_answer, as_name, listed

# The mark of a file of questions.
QUESTIONS = {".*": [{"question": ..., "rubric": ...}]}
_NAME = "probing_questions"
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary")
_EVIDENCE = "source_chat_ids"
_ABSTENTION = "abstention"


def questions_beside(conversation: Conversation) -> tuple[list[Question], list[DeadLetter]]:
    """The questions of a chat from the file beside it; a kept letter where there is none (`questions_missing`)."""
    uri = conversation.source_uri
    found = first_readable([beside(uri, f"{_NAME}.json"), beside(uri, f"{_NAME}/{_NAME}.json")])
    if found is None:
        error = f"no {_NAME}.json beside the chat: conversation {conversation.conversation_id!r} has no questions"
        return [], [DeadLetter("questions_missing", error, uri, None, "file", "kept")]
    questions, letters = list[Question](), Letters(found)
    for item in items_of(found, letters.letters):
        if isinstance(item.value, dict):
            _add(item.value, conversation, questions, letters)
        else:
            letters.position = item.index
            error = f"questions are {type(item.value).__name__}, an object of lists by ability is expected"
            letters.report("malformed_record", error, "file")
    return questions, letters.letters


def _add(by_ability: dict[str, Any], conversation: Conversation, questions: list[Question], letters: Letters) -> None:
    turns = set(conversation.turn_id)
    for ability, rows in by_ability.items():
        for number, row in enumerate(rows if isinstance(rows, list) else [rows]):
            what = f"question {ability} {number} of conversation {conversation.conversation_id!r}"
            letters.position = len(questions)
            if not letters.is_object(row, what, "question") or not letters.is_text(
                row.get("question"), what, "question"
            ):
                continue
            answer = next((text for key in _ANSWERS if (text := as_answer(row.get(key))) is not None), None)
            given, roles = _evidence(row.get(_EVIDENCE))
            name = f"{ability}-{number}".replace(":", "%3A")
            rest = {key: value for key, value in row.items() if key not in ("question", *_ANSWERS, _EVIDENCE)}
            questions.append(
                Question(
                    question_id=f"{conversation.conversation_id}:{name}",
                    position=len(questions),
                    text=row["question"],
                    answer=answer,
                    category=ability,
                    answers=listed(answer),
                    evidence=gold_of(given, turns),
                    answerable=ability != _ABSTENTION,
                    attributes=rest | ({"evidence_roles": roles} if roles else {}),
                )
            )


def _evidence(given: object) -> tuple[object, dict[str, str]]:
    """The ids as one list, and the role of each where the source tells them apart by role."""
    if not isinstance(given, dict):
        return given, {}
    pairs = [(role, item) for role, ids in given.items() for item in (ids if isinstance(ids, list) else [ids])]
    roles: dict[str, str] = {}
    for role, item in pairs:
        for single in item if isinstance(item, list) else [item]:
            if (name := as_name(single)) is not None:
                roles[name] = f"{roles[name]},{role}" if name in roles else role
    return [item for _, item in pairs], roles
