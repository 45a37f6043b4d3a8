"""A printed score has its n, and what was not scored is said with its reason."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Memlake = Callable[..., "object"]

STUDY = """
name = "mine"
corpus = "c"
[cutoffs]
tokens = [100]
[[cells]]
name = "turns"
representations = ["turns"]
plan = "lexical"
"""


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """One conversation with a whole question, one without an answer, one without gold and one nobody can answer."""
    questions = [
        {"text": "where are the shoes?", "answer": "hall", "evidence": ["t0"], "category": "one"},
        {"text": "what does 'the' mean?", "answer": "the", "evidence": ["t0"], "category": "one"},
        {"text": "which hall?", "answer": "hall", "evidence": ["nowhere"], "category": "two"},
        {"text": "which moon?", "answer": "Io", "evidence": [], "answerable": False, "category": "two"},
    ]
    turns = [{"turn_id": "t0", "speaker": "Ana", "text": "Shoes stay in the hall."}]
    path = tmp_path / "asked.jsonl"
    path.write_text(json.dumps({"conversation_id": "a", "turns": turns, "questions": questions}) + "\n")
    return path


def test_every_mean_is_printed_with_its_n_and_what_it_leaves_out(memlake: Memlake, tmp_path: Path, asked: Path):
    (tmp_path / "mine.toml").write_text(STUDY)
    wanted = ("--corpus", "c", "--representations", "turns", "--embedder", "none")
    done = memlake("ingest", str(asked), *wanted)
    assert done.returncode == 0, done.stderr
    told = memlake("study", "run", "mine.toml").stdout
    assert "not scored by some metric: 1 no_content_tokens, 2 no_valid_evidence, 1 unanswerable" in told
    shown = memlake("study", "show").stdout
    rows = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
    headers = [row for row in rows if row[0] == "cell"]
    assert [row[-2:] for row in headers] == [["n", "excluded"]] * 3
    # Survival in the context, recall of gold, survival in the store: mean, n, excluded.
    assert [row[1:] for row in rows if row[0] == "turns"] == [
        ["1.000", "2", "2"],
        ["1.000", "2", "2"],
        ["1.000", "2", "2"],
    ]
    for line in ("1 questions, no_content_tokens", "2 questions, no_valid_evidence", "1 questions, unanswerable"):
        assert f"excluded: {line}" in shown
    document = json.loads(memlake("study", "show", "--json").stdout)
    for row in document["means"]:
        assert row["n"] + row["excluded"] == 4
        assert sum(row["reasons"].values()) == row["excluded"]


def test_all_faults_of_a_study_are_printed_a_line_each_before_the_advice(memlake: Memlake, tmp_path: Path):
    wrong = STUDY.replace("[100]", "[0]").replace("lexical", "lexcial").replace('"turns"\nrep', '"tu\\u001brns"\nrep')
    (tmp_path / "mine.toml").write_text(wrong)
    done = memlake("study", "plan", "mine.toml")
    assert done.returncode == 2
    head, *faults, hint = done.stderr.splitlines()
    assert head == "error: study='mine.toml' has 3 faults:"
    assert [fault.split(":")[0] for fault in faults] == ["- line 5", "- line 7", "- line 9"]
    assert "\x1b" not in done.stderr
    assert hint.startswith("hint:  mend the file")
    error = json.loads(memlake("study", "plan", "mine.toml", "--json").stdout)["error"]
    assert error["message"].splitlines()[1].startswith("- line 5: cutoffs: tokens=[0]")
