"""Questions and units that a conversation in memlake's own JSONL brings along."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question, SuppliedUnit
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import check_name
from memlake.transforms.read.common.arrange import evidence_of, qualify
from memlake.transforms.read.common.draft import Draft, Letters
from memlake.transforms.text.clean import as_answer, as_name, listed
from memlake.transforms.text.dates import parse_time


def questions_of(given: object, conversation: Conversation, draft: Draft) -> list[Question]:
    """The questions of a conversation; evidence that names no turn is marked dangling, never guessed."""
    turns = set(conversation.turn_id)
    questions = []
    for position, record in _records(given, "question", draft):
        what = f"question {position} of {draft}"
        if not draft.is_text(record.get("text"), what, "question"):
            continue
        if error := _malformed(record, what):
            draft.report("malformed_question", error, "question")
            continue
        answer = as_answer(record.get("answer"))
        answers = _texts(record.get("answers"))
        asked_at = parse_time(record.get("asked_at"))
        if record.get("asked_at") is not None and asked_at is None:
            error = f"asked_at={record['asked_at']!r:.60} of {what} is no date that can be read"
            draft.report("broken_date", error, "question", "kept")
        if answer is None and answers:
            answer = answers[0]
        source_id = as_name(record.get("question_id"))
        attributes = record["attributes"] if isinstance(record.get("attributes"), dict) else {}
        questions.append(
            Question(
                question_id=source_id or "",
                position=position,
                text=record["text"],
                answer=answer,
                category=as_name(record.get("category")) or "",
                label_set=record.get("label_set") or "official",
                answers=list(dict.fromkeys([*listed(answer), *answers])),
                evidence=evidence_of(map(_named, listed(record.get("evidence"))), turns),
                asked_at=asked_at[0] if asked_at else None,
                options=_texts(record.get("options")),
                answerable=record.get("answerable") is not False,
                attributes=attributes if source_id is None else attributes | {"source_id": source_id},
            )
        )
    _qualify(questions, conversation.conversation_id)
    return _without_conflicts(questions, draft)


def units_of(given: object, conversation: Conversation, draft: Draft) -> list[SuppliedUnit]:
    """The units of a conversation; turn ids that name no turn are left out and reported."""
    units = []
    for position, record in _records(given, "unit", draft):
        unit = supplied_unit(record, f"unit {position} of {draft}", draft)
        if unit is not None:
            units.append(unit)
    units, letters = resolve_turns(units, conversation)
    draft.letters += letters
    return units


def supplied_unit(record: dict[str, Any], what: str, letters: Letters) -> SuppliedUnit | None:
    """A unit as a file gives it, its turns not looked up yet; None, and a letter, where it cannot be stored."""
    if not letters.is_text(record.get("text"), what, "unit"):
        return None
    name = record.get("representation")
    try:
        representation = check_name("representation", name if isinstance(name, str) else "")
    except UsageError as refused:
        letters.report("malformed_record", f"{what}: {refused.message}", "unit")
        return None
    attributes = record.get("attributes")
    if attributes is not None and not isinstance(attributes, dict):
        error = f"attributes of {what} are {type(attributes).__name__}, an object is expected: left out"
        letters.report("malformed_record", error, "unit", "kept")
    return SuppliedUnit(
        representation=representation,
        kind=as_name(record.get("kind")) or "unit",
        text=record["text"],
        session=None,
        turn_ids=list(dict.fromkeys(as_name(item) or "" for item in listed(record.get("turn_ids")))),
        speaker=as_name(record.get("speaker")),
        attributes=attributes if isinstance(attributes, dict) else {},
    )


def resolve_turns(units: list[SuppliedUnit], conversation: Conversation) -> tuple[list[SuppliedUnit], list[DeadLetter]]:
    """The units with the session that all their turns lie in; turn ids that name no turn are left out and reported."""
    session_of = dict(zip(conversation.turn_id, conversation.session, strict=True))
    made, letters = [], []
    for position, unit in enumerate(units):
        if missing := [item for item in unit.turn_ids if item not in session_of]:
            what = f"unit {position} of conversation {conversation.conversation_id!r}"
            error = f"turn_ids={missing!r:.100} of {what} name no turn"
            letters.append(DeadLetter("dangling_turn", error, conversation.source_uri, None, "unit", "kept"))
        turn_ids = [item for item in unit.turn_ids if item in session_of]
        sessions = {session_of[item] for item in turn_ids}
        made.append(replace(unit, turn_ids=turn_ids, session=sessions.pop() if len(sessions) == 1 else None))
    return made, letters


def _records(given: object, what: str, draft: Draft) -> Iterator[tuple[int, dict[str, Any]]]:
    for position, record in enumerate(given if isinstance(given, list) else [given]):
        if isinstance(record, dict):
            yield position, record
        else:
            error = f"{what} {position} of {draft} is {type(record).__name__}, not an object"
            draft.report("malformed_record", error, what)


def _texts(given: object) -> list[str]:
    return [text for item in listed(given) if (text := as_answer(item)) is not None]


def _named(given: object) -> tuple[str, str | None, str]:
    name = as_name(given)
    return (as_answer(given) or "", None, "malformed") if name is None else (name, name, "valid")


def _malformed(record: dict[str, Any], what: str) -> str | None:
    """Why the labels of a question are not known, None where they are; a guess would score it under the wrong ones."""
    label_set, answerable = record.get("label_set"), record.get("answerable")
    if answerable is not None and not isinstance(answerable, bool):
        return f"answerable={answerable!r:.60} of {what} is {type(answerable).__name__}, true or false is expected"
    if label_set is not None:
        try:
            check_name("label_set", label_set if isinstance(label_set, str) else "")
        except UsageError:
            return f"label_set={label_set!r:.60} of {what} is no name"
    return None


def _qualify(questions: list[Question], conversation_id: str) -> None:
    """Name each question by its id or its place; an id names one question of each label set."""
    given = {question.question_id for question in questions}
    by_label_set: dict[str, tuple[list[Question], list[str]]] = {}
    for question in questions:
        name = question.question_id or f"q{question.position}"
        # A given id keeps its name even where it looks like another question's place.
        while not question.question_id and name in given:
            name += "~2"
        same, names = by_label_set.setdefault(question.label_set, ([], []))
        same.append(question)
        names.append(name)
    for same, names in by_label_set.values():
        qualify(same, names, conversation_id)


def _without_conflicts(questions: list[Question], draft: Draft) -> list[Question]:
    """The questions but those that share their id with an earlier one of another text, in another label set."""
    texts: dict[str, str] = {}
    kept = []
    for question in questions:
        if texts.setdefault(question.question_id, question.text) == question.text:
            kept.append(question)
            continue
        error = (
            f"question {question.position} has question_id={question.question_id!r} under"
            f" label_set={question.label_set!r} with another text than under the label set before"
        )
        draft.report("conflicting_question", error, "question")
    return kept
