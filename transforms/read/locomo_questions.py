r"""LoCoMo's questions: answers as text, gold turns by id, and the quirks of both made visible instead of guessed away.

Evidence ids are read by the pattern D(\d+):(\d+) with integers normalised, so that joined ids ('D8:6; D9:17') and
zero-padded ones ('D30:05') are repaired (`normalised`); what names no turn stays as `malformed` or `dangling`.
Category 5 is adversarial: never answerable, and its trap answer is kept as an attribute only.
"""

import re
from typing import Any

from transforms.read.clean import as_answer, text_letter
from transforms.read.conversation import Conversation, DeadLetter, Question
from transforms.read.locomo_corrections import Corrections

_ID = re.compile(r"D(\d+):(\d+)", re.ASCII)

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
        official.append(_question(name, position, row, row.get("answer"), row.get("evidence"), "official", turns))
        if corrections is not None:
            fixed = corrections.of(index, position, row["question"], conversation.source_uri, letters)
            # Where only the citation is wrong, correct_answer repeats the answer amid remarks on the citation.
            answered = fixed.get("error_type") != "WRONG_CITATION" and fixed.get("correct_answer")
            answer = answered or row.get("answer")
            evidence = fixed.get("correct_evidence") or row.get("evidence")
            question = _question(name, position, row, answer, evidence, "corrected", turns)
            if fixed:
                question.attributes |= {"correction": fixed.get("error_type")}
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
            named = [f"D{int(session)}:{int(place)}" for session, place in _ID.findall(raw)]
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
    name: str, position: int, row: dict[str, Any], answer: object, evidence: object, label_set: str, turns: set[str]
) -> Question:
    text = as_answer(answer)
    category = as_answer(row.get("category")) or ""
    attributes = {"adversarial_answer": row["adversarial_answer"]} if "adversarial_answer" in row else {}
    return Question(
        question_id=name,
        position=position,
        text=row["question"],
        answer=text,
        category=category,
        label_set=label_set,
        answers=[] if text is None else [text],
        evidence=evidence_of(evidence, turns),
        answerable=category != "5",
        attributes=attributes,
    )
