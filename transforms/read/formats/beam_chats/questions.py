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
from memlake.transforms.read.common.gold import gold_of
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.side_files import beside, first_readable
from memlake.transforms.text.clean import as_answer, as_name, text_letter

_NAME = "probing_questions"
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary")
_EVIDENCE = "source_chat_ids"
_ABSTENTION = "abstention"


def is_questions(value: dict[str, Any]) -> bool:
    """Whether it has the structure of a file of questions: lists of them by ability."""
    firsts = [rows[0] for rows in value.values() if isinstance(rows, list) and rows and isinstance(rows[0], dict)]
    return bool(firsts) and all("question" in row and "rubric" in row for row in firsts[:1])


def questions_beside(conversation: Conversation) -> tuple[list[Question], list[DeadLetter]]:
    """The questions of a chat from the file beside it; a kept letter where there is none (`questions_missing`)."""
    uri = conversation.source_uri
    found = first_readable([beside(uri, f"{_NAME}.json"), beside(uri, f"{_NAME}/{_NAME}.json")])
    if found is None:
        error = f"no {_NAME}.json beside the chat: conversation {conversation.conversation_id!r} has no questions"
        return [], [DeadLetter("questions_missing", error, uri, None, "file", "kept")]
    questions, letters = list[Question](), list[DeadLetter]()
    for item in read_items(found):
        if isinstance(item, DeadLetter):
            letters.append(item)
        elif not isinstance(item.value, dict):
            error = f"questions are {type(item.value).__name__}, an object of lists by ability is expected"
            letters.append(DeadLetter("malformed_record", error, found, item.index, "file"))
        else:
            _add(item.value, conversation, found, questions, letters)
    return questions, letters


def _add(
    by_ability: dict[str, Any],
    conversation: Conversation,
    uri: str,
    questions: list[Question],
    letters: list[DeadLetter],
) -> None:
    turns = set(conversation.turn_id)
    for ability, rows in by_ability.items():
        for number, row in enumerate(rows if isinstance(rows, list) else [rows]):
            what = f"question {ability} {number} of conversation {conversation.conversation_id!r}"
            if not isinstance(row, dict):
                error = f"{what} is {type(row).__name__}, an object is expected"
                letters.append(DeadLetter("malformed_record", error, uri, len(questions), "question"))
                continue
            if letter := text_letter(row.get("question"), what, uri, len(questions), "question"):
                letters.append(letter)
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
                    answers=[] if answer is None else [answer],
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
