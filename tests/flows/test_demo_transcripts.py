"""The demo's questions are honest: every answer is in the turns it names, and none is given away by its question."""

import pytest

from memlake.flows.demo import TRANSCRIPTS
from memlake.transforms.base.conversation import Conversation, Question, ReadOptions, Source
from memlake.transforms.read.formats.memlake_jsonl.conversations import CONVERSATIONS
from memlake.transforms.text.content_tokens import content_tokens


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    """The demo's transcripts, read without a single dead letter."""
    read = list(CONVERSATIONS.read(Source(str(TRANSCRIPTS)), ReadOptions()))
    assert all(isinstance(item, Conversation) for item in read)
    return read


def answerable(conversation: Conversation) -> list[Question]:
    return [question for question in conversation.questions if question.answerable]


def test_there_is_enough_to_measure(conversations: list[Conversation]):
    assert len(conversations) >= 8
    assert sum(len(conversation.sessions) > 1 for conversation in conversations) >= 4
    assert sum(len(answerable(conversation)) for conversation in conversations) >= 40
    assert any("¿" in question.text for conversation in conversations for question in conversation.questions)


def test_every_answer_is_in_the_turns_that_it_names(conversations: list[Conversation]):
    for conversation in conversations:
        text = dict(zip(conversation.turn_id, conversation.text, strict=True))
        for question in answerable(conversation):
            named = content_tokens(" ".join(text[raw_id] for raw_id, _, _ in question.evidence))
            assert set(content_tokens(question.answer)) <= set(named), question.question_id


def test_no_question_gives_its_answer_away(conversations: list[Conversation]):
    for conversation in conversations:
        for question in answerable(conversation):
            answer, asked = set(content_tokens(question.answer)), set(content_tokens(question.text))
            assert len(answer & asked) * 2 < len(answer), question.question_id


def test_every_evidence_id_is_a_turn_and_unanswerable_questions_name_none(conversations: list[Conversation]):
    for conversation in conversations:
        for question in conversation.questions:
            assert bool(question.evidence) == question.answerable
            assert all(status == "valid" for _, _, status in question.evidence), question.question_id
