"""Probes as JSONL: the reader lands all of it."""

import json
from pathlib import Path

from memlake.transforms.base.conversation import Conversation, Source
from memlake.transforms.probes.conversation import conversation_of
from memlake.transforms.probes.jsonl import lines_of
from memlake.transforms.probes.plan import plan_of
from memlake.transforms.read.catalogue import read_source


def test_the_reader_finds_every_turn_question_and_gold_turn(tmp_path: Path) -> None:
    made = [conversation_of(plan_of(11, "train", index, 60), 0.5) for index in range(4)]
    (tmp_path / "probes.jsonl").write_text(lines_of(made), encoding="utf-8")
    read = list(read_source(Source(str(tmp_path / "probes.jsonl"))))
    assert [type(conversation) for conversation in read] == [Conversation] * 4
    for probes, conversation in zip(made, read, strict=True):
        assert isinstance(conversation, Conversation)
        assert conversation.text == [turn.text for turn in probes.turns]
        assert len(conversation.sessions) == 5
        assert [question.text for question in conversation.questions] == [
            question.text for question in probes.questions
        ]
        for planted, question in zip(probes.questions, conversation.questions, strict=True):
            assert question.question_id == f"{probes.conversation_id}:{planted.question_id}"
            assert (question.answer, question.answerable) == (planted.answer, planted.answer is not None)
            assert question.category == planted.category
            assert question.evidence == [(turn_id, turn_id, "valid") for turn_id in planted.evidence]
            assert question.asked_at is not None
            assert question.attributes["fits"] is (planted.fits if planted.answer else None)


def test_a_question_names_its_pair_at_every_fit(tmp_path: Path) -> None:
    plan = plan_of(11, "test", 1, 60)
    told = [json.loads(lines_of([conversation_of(plan, fit)])) for fit in (0.0, 1.0)]
    assert told[0]["conversation_id"] != told[1]["conversation_id"]
    pairs = [[question["attributes"]["pair"] for question in conversation["questions"]] for conversation in told]
    assert pairs[0] == pairs[1]
    assert [conversation["questions"][0]["attributes"]["fit"] for conversation in told] == [0.0, 1.0]
