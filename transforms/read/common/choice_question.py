"""The multiple-choice question of MemSim and MemBench: {question, answer, choices {A..D}, ground_truth, time}."""

from typing import Any

from memlake.transforms.base.conversation import Question
from memlake.transforms.read.common.choices import lettered
from memlake.transforms.read.common.gold import Evidence
from memlake.transforms.text.clean import as_answer
from memlake.transforms.text.dates import parse_time


def choice_question(row: dict[str, Any], evidence: Evidence) -> Question:
    """The question of a row whose text can be stored, not yet named, placed or categorised."""
    choices = lettered(row.get("choices"), row.get("ground_truth"))
    answer = as_answer(row.get("answer"))
    answer = choices.right_text if answer is None else answer
    asked_at = parse_time(row.get("time"))
    return Question(
        question_id="",
        position=0,
        text=row["question"],
        answer=answer,
        category="",
        answers=[] if answer is None else [answer],
        evidence=evidence,
        asked_at=asked_at[0] if asked_at else None,
        options=choices.options,
        attributes=choices.attributes,
    )
