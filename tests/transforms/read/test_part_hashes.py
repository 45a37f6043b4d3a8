"""What makes a part new: any change of what is stored of it, and nothing else."""

from dataclasses import fields, replace

import pytest

from memlake.transforms.base.conversation import Conversation, Question, Session
from memlake.transforms.read.tabulate import tabulate

QUESTION = Question("q", 0, "Who?", "Ann", "one", evidence=[("t0", "t0", "valid")])
# In what a question differs, where another value of the same type would not do.
OTHER = {
    "evidence": [("t1", "t1", "valid")],
    "attributes": {"more": 1},
    "answers": ["Ann", "Anna"],
    "options": ["Ann", "Bob"],
}


def conversation(question: Question = QUESTION, **session: object) -> Conversation:
    made = Conversation("c", "memory:", "test", sessions=[replace(Session("s", "1 May", 7), **session)])
    for name in ("t0", "t1"):
        made.session.append(0)
        made.turn_id.append(name)
        made.speaker.append("Ann")
        made.role.append("participant")
        made.kind.append("message")
        made.text.append(f"hello {name}")
        made.source_chars.append(8)
        made.said_at.append(None)
    made.questions.append(question)
    return made


def hash_of(made: Conversation, part: str, revision: int = 1) -> str:
    [row] = [row for row in tabulate("c", [made], revision)["parts"].to_pylist() if row["part"].startswith(part)]
    return row["content_hash"]


def another(value: object, name: str) -> object:
    if name in OTHER:
        return OTHER[name]
    if isinstance(value, bool):
        return not value
    return value + 7 if isinstance(value, int) else 7 if name.endswith("_at") else f"{value} else"


@pytest.mark.parametrize("name", [field.name for field in fields(Question) if field.name != "label_set"])
def test_questions_are_new_when_anything_of_one_is(name: str):
    changed = replace(QUESTION, **{name: another(getattr(QUESTION, name), name)})
    assert hash_of(conversation(changed), "questions:") != hash_of(conversation(), "questions:")
    assert hash_of(conversation(changed), "turns") == hash_of(conversation(), "turns")


@pytest.mark.parametrize("change", [{"session_id": "other"}, {"label": "1 May 2023"}, {"at": 8}, {"zone_known": True}])
def test_turns_are_new_when_anything_of_their_session_is(change: dict[str, object]):
    assert hash_of(conversation(**change), "turns") != hash_of(conversation(), "turns")
    assert hash_of(conversation(**change), "questions:") == hash_of(conversation(), "questions:")


def test_parts_are_new_under_another_revision_of_the_reader_and_not_under_another_file_name():
    moved = replace(conversation(), source_uri="elsewhere:", position=9)
    for part in ("turns", "questions:"):
        assert hash_of(conversation(), part, revision=2) != hash_of(conversation(), part)
        assert hash_of(moved, part) == hash_of(conversation(), part)
