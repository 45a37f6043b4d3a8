"""The multiple-choice questions of MemSim and MemBench: {qid, question, answer, choices {A..D}, ground_truth, time}."""

from collections.abc import Callable

from memlake.transforms.base.conversation import Question
from memlake.transforms.read.common.arrange import Evidence, qualify
from memlake.transforms.read.common.choices import lettered
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.text.clean import as_answer, as_name, listed
from memlake.transforms.text.dates import parse_time


def choice_questions(
    rows: object,
    draft: Draft,
    *,
    category: str,
    attributes: dict[str, object],
    gold_of: Callable[[object], Evidence],
) -> list[Question]:
    """The questions that have a text, each named by its qid or its place; what has none is reported.

    Args:
        rows: a list of questions, or one.
        category, attributes: of all of them.
        gold_of: the evidence of a question's target_step_id.
    """
    questions, names = list[Question](), list[str]()
    for position, row in enumerate(rows if isinstance(rows, list) else [rows]):
        what = f"question {position} of {draft}"
        if not draft.is_object(row, what, "question") or not draft.is_text(row.get("question"), what, "question"):
            continue
        draft.check_time(row.get("time"), what, "question")
        choices = lettered(row.get("choices"), row.get("ground_truth"))
        answer = as_answer(row.get("answer"))
        answer = choices.right_text if answer is None else answer
        asked_at = parse_time(row.get("time"))
        names.append(as_name(row.get("qid")) or f"q{position}")
        questions.append(
            Question(
                question_id="",
                position=position,
                text=row["question"],
                answer=answer,
                category=category,
                answers=listed(answer),
                evidence=gold_of(row.get("target_step_id")),
                asked_at=asked_at[0] if asked_at else None,
                options=choices.options,
                attributes=choices.attributes | attributes,
            )
        )
    qualify(questions, names, str(draft.name))
    return questions
