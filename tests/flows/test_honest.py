"""Honest: what failed is a missing value with a reason, and forgetting forgets what was asked about it too."""

from pathlib import Path

import numpy as np
import pytest
from lake_contents import assert_sound
from sample_chats import conversation, write_conversations

from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import ForgetSettings, IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.static import load_static
from memlake.transforms.lake.commit.changes import STUDY_TABLES
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake

STUDY = (
    'name = "s"\ncorpus = "c"\n[cutoffs]\ntokens = [100]\nk = [1]\n'
    '[[cells]]\nname = "t"\nrepresentations = ["turns"]\nplan = "dense"\n'
)


class Broken:
    """The static embedder, which for some texts gives what no vector may be."""

    def __init__(self) -> None:
        self.whole = load_static()
        self.card = self.whole.card

    def embed(self, texts):
        vectors = self.whole.embed(texts)
        for text, vector in zip(texts, vectors, strict=True):
            if "market" in text:
                vector[:] = np.nan
            if "winter?" in text:
                vector[:] = 0
        return vectors


@pytest.fixture
def ingest_settings(tmp_path: Path) -> IngestSettings:
    made = [conversation(f"c{n}", 6) for n in range(2)]
    for talk in made:
        turns = talk["turns"]
        turns[0]["text"], turns[1]["text"] = "we met at the market", "a walk in winter"
        for turn in turns[2:]:
            turn["text"] = turn["text"].replace("market", "square")
        talk["questions"] = [
            {"text": text, "answer": "walk", "evidence": ["t1"], "category": "one"} for text in ("where?", "winter?")
        ]
    source = write_conversations(tmp_path / "chats.jsonl", made)
    return IngestSettings(str(tmp_path / "lake"), "c", (str(source),), representations=("chunks", "turns"))


@pytest.fixture
def study(tmp_path: Path, ingest_settings: IngestSettings) -> StudySettings:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return StudySettings(ingest_settings.lake, str(path))


def test_a_vector_that_cannot_be_is_null_with_a_dead_letter_and_its_unit_ranks_last(
    ingest_settings, study, monkeypatch
):
    monkeypatch.setitem(catalogue._loaded, "static", Broken())
    made = ingest(ingest_settings)
    # In each conversation the turn, and the chunk that holds it.
    assert made["dead_letters"] == {"bad_vector_nan": 4}
    assert_sound(ingest_settings.lake)
    run = run_study(study)
    with connect(open_lake(ingest_settings.lake)) as connection:
        reasons = connection.sql("select reason, outcome, stage, count(*) from dead_letters group by all").fetchall()
        lost = connection.sql(
            'select count(*), count(vector) from "turns__static" where key_text like $like', params={"like": "%market%"}
        )
        assert lost.fetchall() == [(2, 0)]
        last = connection.sql(
            """
            select distinct units.show_text like '%market%', retrievals.dense is null
            from retrievals inner join units using (unit_id)
            where retrievals.run_id = $run and retrievals.rank = 6
            """,
            params={"run": run["run_id"]},
        ).fetchall()
        asked = connection.sql(
            """
            select questions.text, count(retrievals.dense)
            from retrievals inner join questions using (question_id)
            where retrievals.run_id = $run group by all order by all
            """,
            params={"run": run["run_id"]},
        ).fetchall()
    assert reasons == [("bad_vector_nan", "kept", "embed", 4)]
    assert (True, True) in last
    # A question of which the model makes nothing has no cosine with anything: missing, not 0.
    assert asked == [("where?", 10), ("winter?", 0)]


def test_forgetting_takes_questions_evidence_and_the_rows_of_studies(ingest_settings, study):
    ingest(ingest_settings)
    run = run_study(study)
    before = open_lake(ingest_settings.lake).snapshot().snapshot_id
    made = forget(ForgetSettings(ingest_settings.lake, "c", "c1"))
    assert made["removed"]["questions"] == made["removed"]["evidence"] == 2
    lake = open_lake(ingest_settings.lake)
    for table in ("conversations", "turns", "units", "provenance", "questions", "evidence", *STUDY_TABLES):
        held = lake.snapshot().read(table, columns=["conversation_id"])["conversation_id"].to_pylist()
        then = lake.snapshot(before).read(table, columns=["conversation_id"])["conversation_id"].to_pylist()
        assert "c1" not in held, table
        assert held.count("c0") == then.count("c0"), table
    with connect(lake) as connection:
        for table in ("retrievals", "contexts", "scores"):
            found = connection.execute(
                f"select distinct conversation_id from {table} where run_id = $run", {"run": run["run_id"]}
            )
            assert found.fetchall() == [("c0",)]
    assert_sound(ingest_settings.lake)
