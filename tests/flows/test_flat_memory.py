"""What is held at one time has a size of its own, whatever the input: each limit is small, and each is kept to.

That the process as a whole stays flat is measured in test_invariants.py; here stands which part of it would not.
"""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from sample_chats import conversation, write_conversations, write_turns
from small_tables import rows_of

from memlake.flows.ingest import ingest
from memlake.flows.run import planning
from memlake.flows.run.planning import plan_files
from memlake.flows.run.settings import IngestSettings
from memlake.schemas import PARTS
from memlake.transforms.base.conversation import ReadOptions
from memlake.transforms.embed.catalogue import load
from memlake.transforms.evaluate import corpus
from memlake.transforms.evaluate.corpus import search_corpus
from memlake.transforms.evaluate.inputs import questions_of
from memlake.transforms.lake.commit import audit
from memlake.transforms.lake.commit.audit import run_audits
from memlake.transforms.lake.storage import files as stage
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.read import batches
from memlake.transforms.read.batches import read_batches
from memlake.transforms.retrieve import cell
from memlake.transforms.study.parse import parse_study


def test_no_limit_is_larger_than_a_small_machine_holds():
    megabytes = {
        "text of a batch": batches.BATCH_CHARS,
        "rows of a row group": stage.ROW_GROUP_BYTES,
        "rows of a Lance fragment": stage.FRAGMENT_BYTES,
        "text of a group of audits": audit.GROUP_CHARS,
        "a bucket of turns": planning.BUCKET_BYTES,
        "scores of a block of questions, 8 bytes each": 8 * cell._BLOCK,
    }
    assert {name: size >> 20 for name, size in megabytes.items() if size > 64 << 20} == {}
    assert batches.BATCH_CONVERSATIONS <= 10_000
    assert corpus.GROUP_UNITS <= 200_000


@pytest.fixture
def ingest_settings(tmp_path) -> IngestSettings:
    source = write_conversations(tmp_path / "chats.jsonl", [conversation(f"c{n}", 6) for n in range(8)])
    return IngestSettings(str(tmp_path / "lake"), "c", (str(source),))


@pytest.mark.parametrize(("chars", "conversations"), [(1_000, 1_000), (1 << 30, 2)])
def test_a_batch_ends_when_it_is_full(ingest_settings, monkeypatch, chars, conversations):
    monkeypatch.setattr(batches, "BATCH_CHARS", chars)
    monkeypatch.setattr(batches, "BATCH_CONVERSATIONS", conversations)
    [shard] = plan_files(ingest_settings).shards("seed")
    made = list(read_batches(shard, "s", BaseParts("", "", "c"), ReadOptions()))
    sizes = [batch.tables["conversations"].num_rows for batch in made if batch.total is None]
    assert sum(sizes) == 8
    assert len(sizes) >= 4
    assert max(sizes) <= 2
    assert made[-1].total == len(sizes)


def test_row_groups_and_fragments_are_written_as_they_fill(ingest_settings, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_CONVERSATIONS", 1)
    monkeypatch.setattr(stage, "ROW_GROUP_BYTES", 1_500)
    monkeypatch.setattr(stage, "FRAGMENT_BYTES", 3_000)
    ingest(ingest_settings)
    snapshot = open_lake(ingest_settings.lake).snapshot()
    [turns] = snapshot.files("turns")
    assert pq.read_metadata(turns).num_row_groups >= 4
    assert len(snapshot.lance_table("chunks__static").get_fragments()) >= 4


def test_files_are_closed_as_they_fill(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "ROW_GROUP_BYTES", 1)
    writer = stage.PartitionWriter(tmp_path, PARTS, {"corpus": "c"}, file_bytes=1)
    for number in range(3):
        writer.write(rows_of(PARTS, [{"conversation_id": f"c{number}", "part": "turns"}]))
    writer.close()
    assert [(file.rows, file.first_conversation) for file in writer.done] == [(1, "c0"), (1, "c1"), (1, "c2")]


def test_audits_look_at_groups_that_together_are_all_conversations(ingest_settings, monkeypatch):
    ingest(ingest_settings)
    lake = open_lake(ingest_settings.lake)
    snapshot = lake.snapshot()
    everything = snapshot.read("conversations", columns=["corpus", "conversation_id"])
    whole, groups = audit._connection, []

    def noting(lake, files, audited, chars):
        groups.append(sorted(audited["conversation_id"].to_pylist()))
        return whole(lake, files, audited, chars)

    monkeypatch.setattr(audit, "GROUP_CHARS", 1_000)
    monkeypatch.setattr(audit, "_connection", noting)
    assert run_audits(lake, snapshot, everything) == {}
    *by_group, at_once = groups
    assert at_once == sorted(name for group in by_group for name in group) == [f"c{n}" for n in range(8)]
    assert len(by_group) >= 4


def test_turns_are_gathered_in_buckets_of_a_size(tmp_path, ingest_settings, monkeypatch):
    source = write_turns(tmp_path / "turns.jsonl", [conversation(f"c{n}", 6) for n in range(8)])
    monkeypatch.setattr(planning, "BUCKET_BYTES", 2_000)
    plan = plan_files(replace(ingest_settings, sources=(str(source),)))
    assert plan.buckets == -(-source.stat().st_size // 2_000) >= 3


STUDY = """
name = "s"
corpus = "c"
[cutoffs]
k = [1]
[[cells]]
name = "chunks"
representations = ["chunks"]
plan = "hybrid"
"""


def test_a_study_reads_the_units_of_some_conversations_at_a_time(tmp_path, ingest_settings, monkeypatch):
    asked = [conversation(f"c{n}", 6) | {"questions": [{"text": f"what of {n}", "answer": "stone"}]} for n in range(8)]
    ingest(replace(ingest_settings, sources=(str(write_conversations(tmp_path / "asked.jsonl", asked)),)))
    snapshot, study = open_lake(ingest_settings.lake).snapshot(), parse_study(STUDY, source="s.toml")
    whole, read = corpus.read_tables, []

    def noting(*arguments):
        group = arguments[-1]
        read.append(len(group))
        return whole(*arguments)

    monkeypatch.setattr(corpus, "read_tables", noting)
    monkeypatch.setattr(corpus, "GROUP_UNITS", 3)
    (asked_of,) = study.corpora
    labels = questions_of(snapshot, study, asked_of)
    found = list(search_corpus(snapshot, study, asked_of, "r", labels, load("static")))
    assert len(found) == sum(read) == 8
    assert max(read) <= 3
