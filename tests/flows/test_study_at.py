"""A study reads one snapshot, the one that it was told, says which, and waits for the lock as long as it was told."""

import pytest
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.base.errors import LakeBusyError
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        'name = "s"\ncorpus = "c"\n[cutoffs]\nk = [1]\n'
        '[[cells]]\nname = "t"\nrepresentations = ["turns"]\nplan = "lexical"\n'
    )
    return path


def asked(name: str, place: int = 0) -> dict[str, object]:
    made = conversation(name, 6)
    words = made["turns"][place]["text"].split()
    question = {"text": words[0], "answer": words[1], "evidence": [f"t{place}"], "category": "one"}
    return made | {"questions": [question]}


def test_a_study_at_an_older_snapshot_sees_nothing_that_came_later(tmp_path, study):
    made = []
    for names in ("a", "ab"):
        source = write_conversations(tmp_path / f"{names}.jsonl", [asked(name) for name in names])
        settings = IngestSettings(
            str(tmp_path / "lake"), "c", (str(source),), representations=("turns",), embedder="none"
        )
        made.append(ingest(settings)["snapshot_id"])
    lake = open_lake(str(tmp_path / "lake"))
    for at, questions in ((made[0], 1), (made[1], 2)):
        run = run_study(StudySettings(str(tmp_path / "lake"), str(study), at=at))
        assert (run["questions"], run["read_snapshot_id"]) == (questions, at)
        with connect(lake) as connection:
            cells = connection.execute("select read_snapshot_id from cells where run_id = $1", [run["run_id"]])
            assert cells.fetchall() == [(at,)]
            seen = connection.execute(
                "select count(distinct conversation_id) from contexts where run_id = $1", [run["run_id"]]
            )
            assert seen.fetchall() == [(questions,)]


def test_a_study_waits_for_the_lock_as_long_as_was_said(tmp_path, study):
    source = write_conversations(tmp_path / "a.jsonl", [asked("a")])
    ingest(IngestSettings(str(tmp_path / "lake"), "c", (str(source),), representations=("turns",), embedder="none"))
    with open_lake(str(tmp_path / "lake")).lock("other"), pytest.raises(LakeBusyError, match="waited 0 s"):
        run_study(StudySettings(str(tmp_path / "lake"), str(study), lock_timeout_s=0.0))
