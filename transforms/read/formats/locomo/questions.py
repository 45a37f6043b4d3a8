r"""LoCoMo's questions: answers as text, gold turns by id, and the quirks of both made visible instead of guessed away.

Evidence ids are read by the pattern D(\d+):(\d+) with integers normalised, so that joined ids ('D8:6; D9:17') and
zero-padded ones ('D30:05') are repaired (`normalised`); what names no turn stays as `malformed` or `dangling`.
Category 5 is adversarial: never answerable, and its trap answer is kept as an attribute only.

Corrected questions carry the correction as its file prints it: attributes `correction` (its answer) and
`correction_type`. A correction that has the key correct_evidence decides the evidence, even by an empty list.
"""

from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question
from memlake.transforms.read.formats.locomo.answers import TURN_ID, corrected_answer
from memlake.transforms.read.formats.locomo.corrections import Corrections
from memlake.transforms.text.clean import as_answer, text_letter

Evidence = list[tuple[str, str | None, str]]


def questions_of(
    qa: list[Any], conversation: Conversation, index: int | None, corrections: Corrections | None
) -> tuple[list[Question], list[DeadLetter]]:
    """Every question under the official labels and, where corrections are given, once more under the corrected ones."""
    letters: list[DeadLetter] = []
    turns = set(conversation.turn_id)
    official, corrected = [], []
    for position, row in enumerate(qa):
        what = f"question {position} of conversation {conversation.conversation_id!r}"
        if not isinstance(row, dict):
            error = f"{what} is {type(row).__name__}, an object is expected"
            letters.append(DeadLetter("malformed_record", error, conversation.source_uri, index, "question"))
            continue
        if letter := text_letter(row.get("question"), what, conversation.source_uri, index, "question"):
            letters.append(letter)
            continue
        name = f"{conversation.conversation_id}:q{position}"
        answer, evidence = as_answer(row.get("answer")), evidence_of(row.get("evidence"), turns)
        official.append(_question(name, position, row, answer, evidence, "official"))
        if corrections is not None:
            fixed = corrections.of(index, position, row["question"], conversation.source_uri, letters)
            answer, known = corrected_answer(fixed, answer)
            if "correct_evidence" in fixed:
                evidence = evidence_of(fixed["correct_evidence"], turns)
            question = _question(name, position, row, answer, evidence, "corrected")
            question.answerable &= known
            named = {"correction": fixed.get("correct_answer"), "correction_type": fixed.get("error_type")}
            question.attributes |= {key: value for key, value in named.items() if value is not None}
            corrected.append(question)
    return official + corrected, letters


def evidence_of(given: object, turns: set[str]) -> Evidence:
    """Pair each id with the turn that it names and a status; one entry an id after splitting joined ones."""
    evidence: Evidence = []
    used: set[str] = set()
    for item in given if isinstance(given, list) else [] if given is None else [given]:
        raw = item if isinstance(item, str) else as_answer(item) or ""
        if raw in turns:
            named = [raw]
        else:
            named = [f"D{int(session)}:{int(place)}" for session, place in TURN_ID.findall(raw)]
        if not named:
            evidence.append((raw, None, "malformed"))
        for turn_id in named:
            if turn_id not in turns:
                evidence.append((raw, None, "dangling"))
                continue
            status = "duplicate" if turn_id in used else "valid" if turn_id == raw else "normalised"
            evidence.append((raw, turn_id, status))
            used.add(turn_id)
    return evidence


def _question(
    name: str, position: int, row: dict[str, Any], answer: str | None, evidence: Evidence, label_set: str
) -> Question:
    category = as_answer(row.get("category")) or ""
    attributes = {"adversarial_answer": row["adversarial_answer"]} if "adversarial_answer" in row else {}
    return Question(
        question_id=name,
        position=position,
        text=row["question"],
        answer=answer,
        category=category,
        label_set=label_set,
        answers=[] if answer is None else [answer],
        evidence=evidence,
        answerable=category != "5",
        attributes=attributes,
    )
