"""Each command does what its help says, on a small lake."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from memlake.flows.run.settings import REPRESENTATION_NAMES
from memlake.transforms.represent.catalogue import REPRESENTATIONS

Memlake = Callable[..., "subprocess.CompletedProcess[str]"]


def found(memlake: Memlake, *arguments: str) -> Any:
    done = memlake(*arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_tables_ls_counts_rows_at_the_snapshot(memlake: Memlake, lake: Path):
    rows = {row["table"]: row["rows"] for row in found(memlake, "tables", "ls")}
    assert (rows["conversations"], rows["turns"], rows["questions"], rows["turns__static"]) == (2, 4, 2, 4)


def test_tables_show_describes_every_column(memlake: Memlake, lake: Path):
    for name in ("turns", "turns__static", "runs"):
        about = found(memlake, "tables", "show", name, "--rows", "1")
        assert all(column["is"] for column in about["columns"])
        assert len(about["sample"]) == 1


def test_verify_finds_a_file_that_is_gone_and_ends_with_4(memlake: Memlake, lake: Path):
    assert all(row["rows"] == 0 for row in found(memlake, "tables", "verify")["audits"])
    next((lake / "parquet" / "turns").rglob("corpus=small/*.parquet")).unlink()
    done = memlake("tables", "verify", "--json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["code"] == "audit_failed"
    assert memlake("tables", "verify").returncode == 4


def test_a_tag_a_restore_and_a_diff_tell_one_story(memlake: Memlake, lake: Path):
    before = found(memlake, "snapshots", "tag", "before")["snapshot_id"]
    after = found(memlake, "represent", "sentences", "--corpus", "small", "--embedder", "none")["snapshot_id"]
    count = "select count(distinct representation) as n from units"
    assert found(memlake, "sql", count) == [{"n": 3}]
    assert found(memlake, "sql", count, "--at", "before") == [{"n": 2}]
    changed = found(memlake, "snapshots", "diff", "before")
    assert (changed["old"], changed["new"]) == (before, after)
    assert {"corpus": "small", "part": "units:sentences", "change": "added", "conversations": 2} in changed["parts"]
    restored = found(memlake, "snapshots", "restore", "before")
    assert restored["restored_snapshot_id"] == before
    assert found(memlake, "sql", count) == [{"n": 2}]
    assert [row["tags"] for row in found(memlake, "snapshots", "ls")] == [["before"], [], []]


def test_a_restore_brings_no_forgotten_conversation_back(memlake: Memlake, lake: Path):
    found(memlake, "snapshots", "tag", "before")
    found(memlake, "forget", "ana", "--corpus", "small")
    refused = memlake("snapshots", "restore", "before", "--json")
    assert refused.returncode == 2
    assert "forgotten" in json.loads(refused.stdout)["error"]["message"]
    assert found(memlake, "sql", "select count(*) as n from turns") == [{"n": 1}]
    assert found(memlake, "sql", "select count(*) as n from turns", "--at", "before") == [{"n": 4}]


def test_a_forgotten_conversation_stays_away(memlake: Memlake, lake: Path, made_lake: Path):
    found(memlake, "forget", "ana", "--corpus", "small")
    source = str(made_lake.parent / "transcripts.jsonl")
    assert found(memlake, "ingest", source, "--corpus", "small")["snapshot_id"] is None
    assert found(memlake, "sql", "select conversation_id as id from conversations") == [{"id": "zoë"}]
    assert memlake("forget", "nobody", "--corpus", "small").returncode == 2


def test_represent_and_embed_add_what_is_missing_and_then_nothing(memlake: Memlake, lake: Path):
    made = found(memlake, "represent", "sentences", "--corpus", "small")
    assert made["counts"]["units"]["added"] == made["counts"]["sentences__static"]["added"] > 0
    assert found(memlake, "represent", "sentences", "--corpus", "small")["snapshot_id"] is None
    assert found(memlake, "embed", "--corpus", "small")["snapshot_id"] is None


def test_other_settings_need_another_name_that_commas_do_not_split(memlake: Memlake, lake: Path):
    made = found(memlake, "represent", "chunks-small:size=40,overlap=10", "--corpus", "small")
    assert made["counts"]["chunks-small__static"]["added"] > 4


def test_search_ranks_the_unit_that_says_it_first(memlake: Memlake, lake: Path):
    rows = found(memlake, "search", "gate code", "--corpus", "small", "--representation", "turns", "--k", "2")
    assert "4471" in rows[0]["show_text"]
    assert [row["rank"] for row in rows] == [1, 2]


def test_a_dry_run_writes_nothing(memlake: Memlake, tmp_path: Path, made_lake: Path):
    made = found(memlake, "ingest", str(made_lake.parent / "transcripts.jsonl"), "--corpus", "small", "--dry-run")
    assert made["seen"]["turns"] == 4
    assert not (tmp_path / "lake").exists()


def test_sql_writes_a_file_whole_or_not_at_all(memlake: Memlake, lake: Path, tmp_path: Path):
    assert found(memlake, "sql", "select * from turns", "--out", "t.parquet") == {"out": "t.parquet", "rows": 4}
    assert pq.read_table(tmp_path / "t.parquet").num_rows == 4
    assert memlake("sql", "select 1", "--out", "t.txt").returncode == 2
    assert memlake("sql", "select 1", "--out", "no/t.csv").returncode == 2


def test_a_report_runs_by_name_and_the_list_tells_its_parameters(memlake: Memlake, lake: Path):
    reports = {report["report"]: report["parameters"] for report in found(memlake, "sql", "--reports")}
    assert reports["chunk-source"] == ["unit_id: the unit (units.unit_id)"]
    assert found(memlake, "sql", "--file", "corpus-overview")[0]["units"] == {"chunks": 3, "turns": 4}
    assert "unit_id" in memlake("sql", "--file", "chunk-source").stderr
    done = memlake("sql", "--file", "corpus-overvue")
    assert done.returncode == 2
    assert "corpus-overview" in done.stderr


STUDY = """
name = "mine"
corpus = "small"
[cutoffs]
tokens = [100]
[[cells]]
name = "turns"
representations = ["turns"]
plan = "hybrid"
"""


def test_a_study_from_a_file_runs_and_is_shown(memlake: Memlake, lake: Path, tmp_path: Path):
    (tmp_path / "mine.toml").write_text(STUDY)
    made = found(memlake, "study", "run", "mine.toml")
    assert (made["cells"], made["questions"]) == (1, 2)
    listed = found(memlake, "study", "ls")
    assert [run["run_id"] for run in listed["runs"]] == [made["run_id"]]
    assert {"demo", "locomo-retrieval"} <= {study["study"] for study in listed["studies"]}
    shown = found(memlake, "study", "show")
    survival = next(row for row in shown["means"] if row["metric"] == "store_survival_all")
    assert (survival["mean"], survival["n"], survival["excluded"]) == (1.0, 2, 0)
    by_category = found(memlake, "study", "show", made["run_id"], "--by", "category")["means"]
    assert {row["category"] for row in by_category} == {"qualifier", "update"}
    assert "answer_survival_all" in memlake("study", "show").stdout


def test_a_report_that_finds_nothing_says_so_on_stderr_and_an_unknown_name_is_an_error(
    memlake: Memlake, lake: Path, tmp_path: Path
):
    (tmp_path / "mine.toml").write_text(STUDY)
    found(memlake, "study", "run", "mine.toml")
    for more in (["--param", "tokens=999"], ["--param", "tokens=999", "--json"], ["--out", "rows.csv"]):
        done = memlake("sql", "--file", "survival-by-category", *more)
        assert done.returncode == 0
        assert done.stderr.startswith("no rows: nothing was measured at this budget")
        assert "memlake study show RUN" in done.stderr
    assert memlake("sql", "--file", "survival-by-category", "--quiet").stderr == ""
    assert memlake("sql", "--file", "survival-by-category", "--param", "tokens=100").stderr == ""
    assert memlake("sql", "select text from turns where false").stderr == ""
    for report, unknown in (
        ("score-means", "run_id=nobody"),
        ("survival-by-category", "label_set=nobody"),
        ("lost-only-as-observations", "representation=nobody"),
        ("chunk-source", "unit_id=nobody"),
    ):
        done = memlake("sql", "--file", report, "--param", unknown)
        assert (done.returncode, done.stdout) == (2, "")
        assert "='nobody' is unknown" in done.stderr


NOTES = """
name = "notes"
corpus = "small"
[cutoffs]
tokens = [100]
[[cells]]
name = "small"
representations = ["chunks-small"]
plan = "lexical"
[[cells]]
name = "notes"
representations = ["notes"]
plan = "lexical"
"""


def test_the_hint_for_a_missing_representation_works(memlake: Memlake, lake: Path, tmp_path: Path):
    found(memlake, "represent", "chunks-small:overlap=10,size=40", "--corpus", "small")
    changed = {
        "conversation_id": "ana",
        "turns": [{"text": "The gate code is 5512 by now."}],
        "questions": [{"text": "gate?", "answer": "5512"}],
        "units": [{"representation": "notes", "text": "A code."}],
    }
    (tmp_path / "changed.jsonl").write_text(json.dumps(changed) + "\n")
    found(memlake, "ingest", "changed.jsonl", "--corpus", "small")
    (tmp_path / "notes.toml").write_text(NOTES)
    error = json.loads(memlake("study", "run", "notes.toml", "--json").stdout)["error"]
    assert "conversation='ana'" in error["message"]
    assert found(memlake, *error["hint"].split()[1:])["counts"]["units"]["added"] > 0
    error = json.loads(memlake("study", "run", "notes.toml", "--json").stdout)["error"]
    assert "conversation='zoë' of corpus='small' has no units of representation='notes'" in error["message"]
    assert (
        error["hint"]
        == "its units come from a source: memlake ingest SOURCE --corpus small, with one that supplies notes"
    )
    searched = memlake(
        "search", "code", "--corpus", "small", "--representation", "notes", "--plan", "lexical", "--json"
    )
    assert len(json.loads(searched.stdout)) == 1
    assert searched.stderr.startswith("1 of 2 conversations of corpus=small have no units of representation=notes")


def test_a_study_says_on_stderr_what_it_left_out_as_forgotten(memlake: Memlake, lake: Path, tmp_path: Path):
    (tmp_path / "mine.toml").write_text(STUDY)
    found(memlake, "snapshots", "tag", "before")
    found(memlake, "forget", "ana", "--corpus", "small")
    done = memlake("study", "run", "mine.toml", "--at", "before", "--json")
    assert json.loads(done.stdout)["excluded"]["forgotten"] == 1
    assert done.stderr.startswith("1 questions are left out")
    found(memlake, "forget", "zoë", "--corpus", "small")
    assert "gone since: 1 of 1 questions" in memlake("study", "show").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["study", "run", "locomo"], "there are: demo, locomo-artifacts, locomo-defects"),
        (["study", "run", "missing.toml"], "missing.toml"),
        (["study", "show"], "no study was run in this lake"),
        (["represent", "trns", "--corpus", "small"], "did you mean turns"),
        (["represent", "turns", "--corpus", "smal"], "small"),
        (["search", "x", "--corpus", "small", "--plan", "hybird"], "hybrid"),
        (["search", " ", "--corpus", "small"], "a text"),
        (["embed", "--corpus", "small", "--embedder", "statick"], "did you mean static"),
        (["snapshots", "tag", "latest"], "latest"),
    ],
)
def test_a_wrong_name_says_what_there_is(memlake: Memlake, lake: Path, arguments: list[str], says: str):
    done = memlake(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_the_command_s_help_names_every_representation_there_is():
    named = set(re.findall(r"[a-z_]+", REPRESENTATION_NAMES))
    assert set(REPRESENTATIONS) <= named
