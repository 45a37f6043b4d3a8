import json

import pytest

from memlake.transforms.base.conversation import ReadOptions, Source
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.read.batches import read_batches


def counts_of(path: str, tmp_path, format_name: str) -> dict[str, int]:
    shard = Shard("source", 0, "seed", format_name, (Source(path),))
    batches = read_batches(shard, shard.name(), BaseParts(str(tmp_path), "", "k"), ReadOptions())
    (seen,) = [batch.seen for batch in batches if batch.seen]
    return {
        name: seen[name] for name in ("questions", "questions_with_gold", "evidence_malformed", "evidence_dangling")
    }


def question(name: str, evidence: list[object], label_set: str | None = None) -> dict[str, object]:
    return {"question_id": name, "text": "Which?", "evidence": evidence, "label_set": label_set}


GOLD, NONE, BROKEN = ["t"], [], ["gone", None]


@pytest.mark.parametrize(
    ("questions", "with_gold", "broken"),
    [
        ([question("q", GOLD)], 1, 0),
        ([question("q", [*GOLD, *GOLD])], 1, 0),
        ([question("q", GOLD), question("q", GOLD, "mine"), question("q", GOLD, "yours")], 1, 0),
        # Official labels decide where there are any, whatever the others say.
        ([question("q", NONE), question("q", GOLD, "mine")], 0, 0),
        ([question("q", GOLD), question("q", BROKEN, "mine")], 1, 0),
        ([question("q", BROKEN), question("q", GOLD, "mine")], 0, 1),
        # Without official ones any will do.
        ([question("q", GOLD, "mine")], 1, 0),
        ([question("q", NONE, "mine"), question("q", GOLD, "yours")], 1, 0),
        ([question("q", BROKEN, "mine")], 0, 1),
        ([question("q", NONE), question("r", GOLD, "mine")], 1, 0),
        ([question("q", NONE)], 0, 0),
    ],
)
def test_a_question_counts_once_by_its_official_labels_when_it_has_them(write, tmp_path, questions, with_gold, broken):
    path = write([{"conversation_id": "c", "turns": [{"turn_id": "t", "text": "one"}], "questions": questions}])
    counts = counts_of(path, tmp_path, "memlake-conversations")
    assert counts["questions"] == len({question["question_id"] for question in questions})
    assert counts["questions_with_gold"] == with_gold
    assert (counts["evidence_malformed"], counts["evidence_dangling"]) == (broken, broken)


def test_questions_that_abstain_have_no_gold(write, tmp_path):
    items = [
        {
            "question_id": name,
            "question_type": "temporal",
            "question": "When?",
            "haystack_sessions": [[{"role": "user", "content": "Now.", "has_answer": True}]],
        }
        for name in ("a", "b_abs")
    ]
    path = write(json.dumps(items).encode())
    assert counts_of(path, tmp_path, "longmemeval") == {
        "questions": 2, "questions_with_gold": 1, "evidence_malformed": 0, "evidence_dangling": 0
    }  # fmt: skip


def test_locomo_has_its_known_counts(shared_data, tmp_path):
    assert counts_of(str(shared_data / "locomo" / "locomo10.json"), tmp_path, "locomo") == {
        "questions": 1986, "questions_with_gold": 1982, "evidence_malformed": 2, "evidence_dangling": 2
    }  # fmt: skip
