"""The report of a real run: read from its published tables alone, by its own study, without what was forgotten since."""

import json
import shutil
from pathlib import Path

import pytest
from sample_chats import write_conversations

from memlake.flows.cli.commands.report import report
from memlake.flows.cli.main import run as command
from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.report import make_report
from memlake.flows.run.settings import ForgetSettings, IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.report.page.page import page

STUDY = """
name = "mine"
corpus = "c"
[cutoffs]
tokens = [10, 100]
[answers]
tokens = [100]
[headline]
metric = "judge_accuracy"
cutoff_kind = "tokens"
cutoff = 100
judge = "match"
[readers.extractive]
kind = "extractive"
[judges.match]
kind = "match"
[[cells]]
name = "turns"
representations = ["turns"]
plan = "lexical"
reader = "extractive"
[[cells]]
name = "notes"
representations = ["notes"]
plan = "lexical"
reader = "extractive"
[[comparisons]]
name = "turns against notes"
a = "turns"
b = "notes"
"""


def conversation(number: int) -> dict[str, object]:
    """One turn with a code, a question about it, and notes that left the code out."""
    return {
        "conversation_id": f"c{number}",
        "turns": [
            {
                "turn_id": "t0",
                "text": f"The gate code is 447{number}.",
                "speaker": "Ana",
                "session_at": "2024-05-06T09:00",
            },
            {"turn_id": "t1", "text": "Running shoes are blue.", "speaker": "Bo", "session_at": "2024-05-06T09:00"},
        ],
        "questions": [
            {
                "question_id": "q0",
                "text": "Which code has the gate?",
                "answer": f"447{number}",
                "category": "code",
                "evidence": ["t0"],
            }
        ],
        "units": [{"representation": "notes", "text": "The gate has a code.", "turn_ids": ["t0"]}],
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A lake, its run, and the snapshot that holds it."""
    folder = tmp_path_factory.mktemp("report")
    lake, study = str(folder / "lake"), folder / "mine.toml"
    source = write_conversations(folder / "chats.jsonl", [conversation(number) for number in range(3)])
    ingest(IngestSettings(lake, "c", (str(source),), representations=("turns",)))
    study.write_text(STUDY)
    run = run_study(StudySettings(lake, str(study)))
    # What was run counts, not what the file says by now.
    study.write_text(STUDY.replace("turns against notes", "changed since"))
    return lake, str(run["run_id"]), str(run["snapshot_id"])


def test_the_latest_run_is_shown_with_its_headline_losses_and_lost_words(made):
    lake, run_id, _ = made
    found = make_report(lake, "latest", None)
    assert found["run"]["run_id"] == run_id
    (headline,) = found["headline"]["compared"]
    assert (headline["name"], headline["difference"]["value"], headline["difference"]["n"]) == (
        "turns against notes",
        1.0,
        3,
    )
    bars = {bar["cell"]: bar["counts"] for bar in found["losses"]}
    assert bars == {"turns": {"correct": 3}, "notes": {"correct": 0, "not_stored": 3}}
    turn = found["browser"]["conversations"][0]["turns"][0]
    notes = str(found["browser"]["representations"].index("notes"))
    assert [turn["text"][start:end] for start, end in turn["stored"][notes]["lost"]] == ["4470"]
    assert "turns against notes" in page(found)
    seconds = {row["cell"]: row["costs"].get("seconds_local") for row in found["costs"]["cells"]}
    assert seconds.keys() == {"turns", "notes"}
    assert all(cost and cost["value"] > 0 for cost in seconds.values())


def test_a_conversation_that_was_forgotten_is_shown_at_no_snapshot(made, tmp_path):
    lake = str(shutil.copytree(made[0], tmp_path / "lake"))
    forget(ForgetSettings(lake, "c", "c1"))
    for at in ("latest", made[2]):
        found = make_report(lake, at, made[1])
        assert [shown["conversation_id"] for shown in found["browser"]["conversations"]] == ["c0", "c2"]
        assert "4471" not in page(found)


def test_an_unknown_run_and_no_questions_at_all_are_refused(made):
    with pytest.raises(NotFoundError, match="run='nobody' is unknown"):
        make_report(made[0], "latest", "nobody")
    with pytest.raises(UsageError, match="questions=0 is not allowed"):
        make_report(made[0], "latest", None, questions=0)
    with pytest.raises(NotFoundError, match="does not exist"):
        make_report(str(Path(made[0]) / "none"), "latest", None)


def test_the_command_writes_the_page_and_prints_the_same_data(made, tmp_path, capfd):
    lake, run_id, _ = made
    out = tmp_path / "report.html"
    arguments = ["--out", str(out), "--lake", lake, "--json", "--questions", "1", "--quiet"]
    assert command(["report", run_id, *arguments]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["run"]["run_id"], told["browser"]["kept"]) == (run_id, 1)
    assert run_id in out.read_text(encoding="utf-8")


def test_the_command_without_anything_to_write_or_print_is_refused(made):
    with pytest.raises(UsageError, match="one of --out and --json is needed"):
        report(lake=made[0])
