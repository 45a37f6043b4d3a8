"""Published numbers beside ours: only where both count the same thing."""

import json
import tomllib
from pathlib import Path

import pytest
from sample_chats import conversation, write_conversations

import memlake.transforms.evaluate.means
from memlake.flows.ingest import ingest
from memlake.flows.report import make_report
from memlake.flows.run.record import Run
from memlake.flows.run.settings import IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.evaluate.corpus import cell_rows
from memlake.transforms.evaluate.means import means, same_cells
from memlake.transforms.evaluate.runs import runs_of, study_of_run
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.study.parse import find_study, parse_study

STUDY = """
name = "known"
corpus = "c"
[cutoffs]
tokens = [100]
[[cells]]
name = "turns"
representations = ["turns"]
plan = "lexical"
[[published]]
cell = "turns"
metric = "evidence_recall_any"
cutoff_kind = "tokens"
cutoff = 100
value = 0.25
n = 4
label_set = "official"
source = "a paper"
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake in which the study ran on two corpora, each of four questions, one without gold."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "known.toml").write_text(STUDY)
    made = conversation("one", 8) | {
        "questions": [
            {"text": f"what {n}", "answer": "x", "evidence": [f"t{n}" if n else "none"], "label_set": label_set}
            for n in range(4)
            for label_set in ("official", "corrected")
        ]
    }
    source = write_conversations(folder / "chats.jsonl", [made])
    for corpus in ("c", "d"):
        ingest(
            IngestSettings(str(folder / "lake"), corpus, (str(source),), representations=("turns",), embedder="none")
        )
        run_study(StudySettings(str(folder / "lake"), str(folder / "known.toml"), corpus=(corpus,)))
    return str(folder / "lake")


@pytest.fixture
def published(lake: str, tmp_path: Path, monkeypatch):
    """The published numbers shown for the run on a corpus, were the study's file this text."""

    def shown(text: str, corpus: str = "c") -> list[dict[str, object]]:
        (tmp_path / "known.toml").write_text(text)
        monkeypatch.setattr(memlake.transforms.evaluate.means, "study_names", lambda: ["known"])
        monkeypatch.setattr(
            memlake.transforms.evaluate.means, "find_study", lambda _: find_study(str(tmp_path / "known.toml"))
        )
        (run_id,) = [run.run_id for run in runs_of(lake, "latest") if run.corpora == (corpus,)]
        return means(lake, "latest", run_id)["published"]

    return shown


def test_a_published_number_stands_beside_ours_of_the_same_questions(published):
    (line,) = published(STUDY)
    assert (line["published"], line["n"], line["label_set"]) == (0.25, 4, "official")
    assert line["difference"] == line["ours"] - 0.25


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('metric = "evidence_recall_any"', 'metric = "mrr"'),
        ("cutoff = 100", "cutoff = 200"),
        ("n = 4", "n = 3"),  # as many as were scored: the fourth was asked too
        ('label_set = "official"', 'label_set = "other"'),
        ('corpus = "c"', 'corpus = "d"'),
        ('plan = "lexical"', 'plan = "dense"'),
    ],
)
def test_a_published_number_of_anything_else_is_not_shown(published, old, new):
    assert old in STUDY
    assert published(STUDY.replace(old, new)) == []


def test_a_run_on_another_corpus_has_no_published_numbers(published):
    assert published(STUDY, corpus="d") == []


def test_numbers_of_other_labels_stand_beside_those(published):
    (line,) = published(STUDY.replace('"official"', '"corrected"'))
    assert line["label_set"] == "corrected"


def test_a_run_killed_after_it_had_published_is_still_known_by_what_it_ran(lake: str, tmp_path: Path, monkeypatch):
    journal = Run.journal
    monkeypatch.setattr(Run, "journal", lambda self, event: journal(self, event) if event == "started" else None)
    made = run_study(StudySettings(lake, str(Path(lake).parent / "known.toml"), corpus=("d",)))
    declared, study = study_of_run(open_lake(lake), str(made["run_id"]))
    assert [corpus.name for corpus in declared.corpora] == ["c"]
    assert ([cell.name for cell in study.cells], [corpus.name for corpus in study.corpora]) == (["turns"], ["d"])
    with pytest.raises(NotFoundError, match="the journal does not hold the study that it ran"):
        study_of_run(open_lake(lake), "nobody")


def test_a_report_reads_the_study_of_its_run_once(lake: str, monkeypatch):
    read, loads = [], tomllib.loads
    monkeypatch.setattr(tomllib, "loads", lambda text: read.append(text) or loads(text))
    make_report(lake, "latest", None)
    assert read.count(STUDY) == 1


def test_a_cell_of_before_there_were_readers_is_the_one_without_a_reader():
    study = parse_study(STUDY, source="s")
    rows = cell_rows(study, study.corpora[0], run_id="r", read_snapshot_id="s")
    settings = json.loads(rows["settings"][0].as_py())
    del settings["reader"]
    assert same_cells(study, {("c", "turns"): settings}) == {("c", "turns")}
    assert same_cells(study, {("c", "turns"): settings | {"depth": 3}}) == set()
