"""A step that only this file knows: a class and a line of the table of steps, and studies run it to the last table."""

from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sample_chats import write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.fields import Count
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.retrieve import plan
from memlake.transforms.retrieve.steps.step import Scale, Seed

STUDY = """
name = "mine"
corpus = "c"
[cutoffs]
k = [2]
[headline]
metric = "mrr"
cutoff_kind = "k"
cutoff = 2
[plans.mine]
steps = [
    { step = "seed_lexical" },
    { step = "seed_speaker", speaker = "Bo", times = 2 },
    { step = "fuse_weighted", lexical = 0.5, speaker = 0.6 },
    { step = "rank" },
    { step = "pack" },
]
[[cells]]
name = "one"
representations = ["turns"]
plan = "mine"
"""


class SeedSpeaker(Seed):
    """How many turns of one speaker are behind a unit, a few times over."""

    part: ClassVar[str] = "speaker"
    scale: ClassVar[Scale] = "words"
    reads: ClassVar[frozenset[str]] = frozenset({"provenance", "turns"})
    step: Literal["seed_speaker"]
    speaker: Literal["Ana", "Bo"]
    times: Count = 1

    def score(self, search):
        store = search.store
        said = pc.equal(store.record.turns["speaker"].take(pa.array(store.sources.turn)), self.speaker).to_numpy()
        counted = np.bincount(store.sources.unit[said], minlength=len(store)) * float(self.times)
        return np.tile(counted, (len(search.texts), 1))


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setitem(plan.STEPS, "seed_speaker", SeedSpeaker)
    texts = (("Ana", "The gate code is 12."), ("Bo", "Shoes are blue."), ("Bo", "The gate is shut."))
    turns = [{"turn_id": f"t{place}", "text": text, "speaker": who} for place, (who, text) in enumerate(texts)]
    question = {"question_id": "q", "text": "gate code", "answer": "12", "category": "x", "evidence": ["t0"]}
    conversation = {"conversation_id": "v", "turns": turns, "questions": [question]}
    source = write_conversations(tmp_path / "chats.jsonl", [conversation])
    ingest(IngestSettings(str(tmp_path / "lake"), "c", (str(source),), representations=("turns",)))
    (tmp_path / "mine.toml").write_text(STUDY)
    return str(tmp_path / "lake")


def test_what_a_new_step_gave_lands_in_the_open_column_of_retrievals(lake, tmp_path):
    run_id = run_study(StudySettings(lake, str(tmp_path / "mine.toml")))["run_id"]
    with connect(open_lake(lake)) as connection:
        rows = connection.execute(
            """
            select units.show_text, retrievals.score, retrievals.lexical, retrievals.parts['speaker'], retrievals.rerank
            from retrievals inner join units using (corpus, representation, unit_id)
            where retrievals.run_id = $run order by retrievals.rank
            """,
            {"run": run_id},
        ).fetchall()
        (settings,) = connection.execute("select plan from cells where run_id = $run", {"run": run_id}).fetchone()
    largest = max(row[2] for row in rows)
    assert [(text, speaker, rerank) for text, _, _, speaker, rerank in rows] == [
        ("Bo: The gate is shut.", 2.0, None), ("Bo: Shoes are blue.", 2.0, None), ("Ana: The gate code is 12.", 0.0, None),
    ]  # fmt: skip
    for _, score, lexical, speaker, _ in rows:
        assert score == pytest.approx(0.5 * lexical / largest + 0.6 * speaker / 2, abs=1e-6)
    assert '{"speaker":"Bo","step":"seed_speaker","times":2}' in settings


def test_a_new_step_has_its_settings_checked_as_every_other(lake):
    end = [{"step": "rank"}, {"step": "pack"}]
    with pytest.raises(UsageError) as refused:
        plan.parse_plan("p", [{"step": "seed_speaker", "speaker": "Cy", "tims": 2}, *end])
    assert [(problem.path, problem.message) for problem in refused.value.problems] == [
        (("steps", 0, "speaker"), "speaker='Cy': allowed are Ana, Bo"),
        (("steps", 0, "tims"), "setting='tims' is unknown: allowed are speaker, times; did you mean 'times'?"),
    ]
