import pyarrow as pa
import pytest
from small_tables import rows_of

from schemas import QUESTIONS
from transforms.errors import NotFoundError
from transforms.retrieve.questions import asked_questions

LABELLED = rows_of(
    QUESTIONS,
    [
        {"question_id": "q2", "position": 2, "label_set": "official", "category": "1"},
        {"question_id": "q1", "position": 1, "label_set": "official", "category": "5"},
        {"question_id": "q1", "position": 1, "label_set": "corrected", "category": "5"},
        {"question_id": "q0", "position": 0, "label_set": "corrected", "category": "1", "conversation_id": "w"},
    ],
)


def ids(questions: pa.Table) -> list[str]:
    return questions["question_id"].to_pylist()


def test_a_question_is_asked_once_whatever_the_number_of_its_labels():
    assert ids(asked_questions(LABELLED)) == ["q1", "q2", "q0"]


def test_label_sets_and_categories_choose_questions():
    assert ids(asked_questions(LABELLED, label_sets=["official"])) == ["q1", "q2"]
    assert ids(asked_questions(LABELLED, label_sets=["corrected"], categories=["1"])) == ["q0"]


def test_a_label_set_or_category_that_nothing_has_is_refused():
    with pytest.raises(NotFoundError, match="no question has label_set='gold': there are corrected, official"):
        asked_questions(LABELLED, label_sets=["gold"])
    with pytest.raises(NotFoundError, match="no question has category='1': there are none"):
        asked_questions(QUESTIONS.empty(), categories=["1"])
