import pyarrow as pa
import pytest
from small_tables import rows_of

from memlake.schemas import QUESTIONS
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.evaluate.inputs import each_once, labelled_questions

LABELLED = rows_of(
    QUESTIONS,
    [
        {"question_id": "q2", "position": 2, "label_set": "official", "category": "1"},
        {"question_id": "q1", "position": 1, "label_set": "official", "category": "5"},
        {"question_id": "q1", "position": 1, "label_set": "corrected", "category": "5"},
        {"question_id": "q0", "position": 0, "label_set": "corrected", "category": "1", "conversation_id": "w"},
    ],
)


def asked_questions(questions, **chosen):
    return each_once(labelled_questions(questions, **chosen))


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


def test_only_rows_of_the_label_sets_and_categories_are_left_to_score_against():
    two = rows_of(
        QUESTIONS,
        [
            {"question_id": "q", "label_set": "official", "category": "1"},
            {"question_id": "q", "label_set": "corrected", "category": "2"},
        ],
    )
    assert labelled_questions(two, categories=["1"])["label_set"].to_pylist() == ["official"]
    assert labelled_questions(two, label_sets=["corrected"])["category"].to_pylist() == ["2"]
    assert labelled_questions(two).num_rows == 2


def test_answers_have_the_content_tokens_of_the_study_s_language():
    rows = [{"question_id": "q0", "answer": "running horses"}, {"question_id": "q1", "answer_tokens": ["stale"]}]
    tokens = {
        language: labelled_questions(rows_of(QUESTIONS, rows), language=language)["answer_tokens"].to_pylist()
        for language in ("english", "other")
    }
    assert tokens == {"english": [["hors", "run"], []], "other": [["horses", "running"], []]}
