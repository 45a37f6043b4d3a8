"""Questions and units that a conversation in memlake's own JSONL brings along."""

from dataclasses import replace
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question, SuppliedUnit
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import check_name
from memlake.transforms.read.common.arrange import unique_ids
from memlake.transforms.text.clean import as_answer, as_name, text_letter
from memlake.transforms.text.dates import parse_time


def questions_of(given: object, conversation: Conversation) -> tuple[list[Question], list[DeadLetter]]:
    """The questions of a conversation; evidence that names no turn is marked dangling, never guessed."""
    letters: list[DeadLetter] = []
    turns = set(conversation.turn_id)
    questions = []
    for position, record in _records(given, "question", conversation, letters):
        what = f"question {position} of conversation {conversation.conversation_id!r}"
        letter = text_letter(record.get("text"), what, conversation.source_uri, None, "question")
        if letter := letter or _malformed(record, what, conversation.source_uri):
            letters.append(letter)
            continue
        answer = as_answer(record.get("answer"))
        answers = [text for item in _list(record.get("answers")) if (text := as_answer(item)) is not None]
        asked_at = parse_time(record.get("asked_at"))
        if record.get("asked_at") is not None and asked_at is None:
            error = f"asked_at={record['asked_at']!r:.60} of {what} is no date that can be read"
            letters.append(DeadLetter("broken_date", error, conversation.source_uri, None, "question", "kept"))
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
                answers=list(dict.fromkeys([*([] if answer is None else [answer]), *answers])),
                evidence=_evidence(_list(record.get("evidence")), turns),
                asked_at=asked_at[0] if asked_at else None,
                options=[text for item in _list(record.get("options")) if (text := as_answer(item)) is not None],
                answerable=record.get("answerable") is not False,
                attributes=attributes if source_id is None else attributes | {"source_id": source_id},
            )
        )
    _qualify(questions, conversation.conversation_id)
    return _without_conflicts(questions, conversation, letters), letters


def units_of(given: object, conversation: Conversation) -> tuple[list[SuppliedUnit], list[DeadLetter]]:
    """The units of a conversation; turn ids that name no turn are left out and reported."""
    letters: list[DeadLetter] = []
    units = []
    for position, record in _records(given, "unit", conversation, letters):
        what = f"unit {position} of conversation {conversation.conversation_id!r}"
        unit, more = supplied_unit(record, what, conversation.source_uri)
        letters += more
        if unit is not None:
            units.append(unit)
    units, more = resolve_turns(units, conversation)
    return units, letters + more


def supplied_unit(record: dict[str, Any], what: str, uri: str) -> tuple[SuppliedUnit | None, list[DeadLetter]]:
    """A unit as a file gives it, its turns not looked up yet; None and why where it cannot be stored."""
    if letter := text_letter(record.get("text"), what, uri, None, "unit"):
        return None, [letter]
    name = record.get("representation")
    try:
        representation = check_name("representation", name if isinstance(name, str) else "")
    except UsageError as refused:
        return None, [DeadLetter("malformed_record", f"{what}: {refused.message}", uri, None, "unit")]
    letters = []
    attributes = record.get("attributes")
    if attributes is not None and not isinstance(attributes, dict):
        error = f"attributes of {what} are {type(attributes).__name__}, an object is expected: left out"
        letters.append(DeadLetter("malformed_record", error, uri, None, "unit", "kept"))
    unit = SuppliedUnit(
        representation=representation,
        kind=as_name(record.get("kind")) or "unit",
        text=record["text"],
        session=None,
        turn_ids=list(dict.fromkeys(as_name(item) or "" for item in _list(record.get("turn_ids")))),
        speaker=as_name(record.get("speaker")),
        attributes=attributes if isinstance(attributes, dict) else {},
    )
    return unit, letters


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


def _records(
    given: object, what: str, conversation: Conversation, letters: list[DeadLetter]
) -> list[tuple[int, dict[str, Any]]]:
    records = []
    for position, record in enumerate(given if isinstance(given, list) else [given]):
        if isinstance(record, dict):
            records.append((position, record))
            continue
        error = f"{what} {position} of conversation {conversation.conversation_id!r} is {type(record).__name__}, not an object"
        letters.append(DeadLetter("malformed_record", error, conversation.source_uri, None, what))
    return records


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _malformed(record: dict[str, Any], what: str, uri: str) -> DeadLetter | None:
    """The dead letter of a question whose labels cannot be told; a guess would score it under the wrong ones."""
    label_set, answerable = record.get("label_set"), record.get("answerable")
    error = None
    if answerable is not None and not isinstance(answerable, bool):
        error = f"answerable={answerable!r:.60} of {what} is {type(answerable).__name__}, true or false is expected"
    elif label_set is not None:
        try:
            check_name("label_set", label_set if isinstance(label_set, str) else "")
        except UsageError:
            error = f"label_set={label_set!r:.60} of {what} is no name"
    return None if error is None else DeadLetter("malformed_question", error, uri, None, "question")


def _qualify(questions: list[Question], conversation_id: str) -> None:
    """Name each question CONVERSATION_ID:ID; the part after the last ':' is its id in the conversation, so none clash."""
    given = {question.question_id for question in questions}
    names = []
    for question in questions:
        name = question.question_id or f"q{question.position}"
        # A given id keeps its name even where it looks like another question's place.
        while not question.question_id and name in given:
            name += "~2"
        names.append(name.replace(":", "%3A"))
    for label_set in {question.label_set for question in questions}:
        places = [place for place, question in enumerate(questions) if question.label_set == label_set]
        for place, name in zip(places, unique_ids([names[place] for place in places]), strict=True):
            questions[place].question_id = f"{conversation_id}:{name}"


def _without_conflicts(
    questions: list[Question], conversation: Conversation, letters: list[DeadLetter]
) -> list[Question]:
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
        letters.append(DeadLetter("conflicting_question", error, conversation.source_uri, None, "question"))
    return kept


def _evidence(given: list[object], turns: set[str]) -> list[tuple[str, str | None, str]]:
    evidence: list[tuple[str, str | None, str]] = []
    used: set[str] = set()
    for item in given:
        name = as_name(item)
        if name is None:
            evidence.append((as_answer(item) or "", None, "malformed"))
        elif name not in turns:
            evidence.append((name, None, "dangling"))
        else:
            evidence.append((name, name, "duplicate" if name in used else "valid"))
            used.add(name)
    return evidence
