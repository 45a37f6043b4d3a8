r"""LoCoMo's questions: answers as text, gold turns by id, and the quirks of both made visible instead of guessed away.

Evidence ids are read by the pattern D(\d+):(\d+) with integers normalised, so that joined ids ('D8:6; D9:17') and
zero-padded ones ('D30:05') are repaired (`normalised`); what names no turn stays as `malformed` or `dangling`.
Category 5 is adversarial: never answerable, and its trap answer is kept as an attribute only.

Corrected questions carry the correction as its file prints it: attributes `correction` (its answer) and
`correction_type`. A correction that has the key correct_evidence decides the evidence, even by an empty list.
"""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, Question
from memlake.transforms.read.common.arrange import Evidence, evidence_of
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.formats.locomo.answers import TURN_ID, corrected_answer
from memlake.transforms.read.formats.locomo.corrections import Corrections
from memlake.transforms.text.clean import as_answer, listed


def questions_of(
    qa: list[Any], conversation: Conversation, draft: Draft, corrections: Corrections | None
) -> list[Question]:
    """Every question under the official labels and, where corrections are given, once more under the corrected ones."""
    turns = set(conversation.turn_id)
    official, corrected = [], []
    for position, row in enumerate(qa):
        what = f"question {position} of {draft}"
        if not draft.is_object(row, what, "question") or not draft.is_text(row.get("question"), what, "question"):
            continue
        name = f"{draft.name}:q{position}"
        answer, evidence = as_answer(row.get("answer")), gold_of(row.get("evidence"), turns)
        official.append(_question(name, position, row, answer, evidence, "official"))
        if corrections is not None:
            fixed = corrections.of(position, row["question"], draft)
            answer, known = corrected_answer(fixed, answer)
            if "correct_evidence" in fixed:
                evidence = gold_of(fixed["correct_evidence"], turns)
            question = _question(name, position, row, answer, evidence, "corrected")
            question.answerable &= known
            named = {"correction": fixed.get("correct_answer"), "correction_type": fixed.get("error_type")}
            question.attributes |= {key: value for key, value in named.items() if value is not None}
            corrected.append(question)
    return official + corrected


def gold_of(given: object, turns: set[str]) -> Evidence:
    """The evidence of a list of ids, or of one; a text that joins several has an entry for each."""
    return evidence_of(_named(given, turns), turns)


def _named(given: object, turns: set[str]) -> Iterator[tuple[str, str | None, str]]:
    for item in listed(given):
        raw = as_answer(item) or ""
        ids = [raw] if raw in turns else [f"D{int(session)}:{int(place)}" for session, place in TURN_ID.findall(raw)]
        if not ids:
            yield raw, None, "malformed"
        for turn_id in ids:
            yield raw, turn_id, "valid" if turn_id == raw else "normalised"


def _question(
    name: str, position: int, row: dict[str, Any], answer: str | None, evidence: Evidence, label_set: str
) -> Question:
    category = as_answer(row.get("category")) or ""
    return Question(
        question_id=name,
        position=position,
        text=row["question"],
        answer=answer,
        category=category,
        label_set=label_set,
        answers=listed(answer),
        evidence=evidence,
        answerable=category != "5",
        attributes={key: row[key] for key in ("adversarial_answer",) if key in row},
    )
