"""Other writers in between: a second run over the same input, a change under a running representation, broken leavings."""

import shutil
from pathlib import Path

import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations, write_turns

from memlake.flows.embed import embed
from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.represent import represent
from memlake.flows.run import landing
from memlake.flows.run.settings import EmbedSettings, ForgetSettings, IngestSettings, RepresentSettings
from memlake.transforms.base.errors import LakeCorruptError, TooManyDeadLettersError, UsageError
from memlake.transforms.lake.commit.publish import publish_shards, restore
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake


@pytest.fixture
def lake(tmp_path) -> str:
    return str(tmp_path / "lake")


def ingest_into(lake: str, *sources: Path, **more):
    return ingest(IngestSettings(lake, "c", tuple(map(str, sources)), **more))


def meanwhile(monkeypatch, action):
    """Run something once, just before the next commit starts."""
    done = []

    def publish(*arguments, **more):
        if not done:
            done.append(True)
            action()
        return publish_shards(*arguments, **more)

    monkeypatch.setattr(landing, "publish_shards", publish)


def test_a_second_run_over_the_same_turns_finishes_first_and_the_first_still_ends_well(tmp_path, lake, monkeypatch):
    source = write_turns(tmp_path / "turns.jsonl", [conversation(f"c{n}", 12) for n in range(4)])
    meanwhile(monkeypatch, lambda: ingest_into(lake, source))
    made = ingest_into(lake, source)
    assert made["snapshot_id"] is None
    assert made["skipped"] == 4
    assert not list((Path(lake) / "staged").iterdir())
    assert_sound(lake)


@pytest.mark.parametrize("name", ["rule_summary", "turns", "chunks-o0:overlap=0"])
def test_a_representation_of_turns_that_changed_meanwhile_is_made_of_the_new_ones(tmp_path, lake, monkeypatch, name):
    made = conversation("c", 6)
    source = write_conversations(tmp_path / "c.jsonl", [made])
    ingest_into(lake, source)
    # The same length, so that no span gives the old text away.
    made["turns"][2]["text"] = made["turns"][2]["text"].replace("e", "x").replace("r", "y")
    changed = write_conversations(tmp_path / "changed.jsonl", [made])
    meanwhile(monkeypatch, lambda: ingest_into(lake, changed))
    represent(RepresentSettings(lake, "c", (name,)))
    clean = str(tmp_path / "clean")
    ingest_into(clean, changed)
    represent(RepresentSettings(clean, "c", (name,)))
    assert digest(lake)["units"] == digest(clean)["units"]
    assert_sound(lake)


def test_vectors_of_units_that_changed_meanwhile_are_of_the_new_ones(tmp_path, lake, monkeypatch):
    made = conversation("c", 6)
    source = write_conversations(tmp_path / "c.jsonl", [made])
    ingest_into(lake, source, embedder="none")
    made["turns"][2]["text"] += " changed"
    changed = write_conversations(tmp_path / "changed.jsonl", [made])
    meanwhile(monkeypatch, lambda: ingest_into(lake, changed, embedder="none"))
    embed(EmbedSettings(lake, "c"))
    clean = str(tmp_path / "clean")
    ingest_into(clean, changed)
    assert digest(lake)["chunks__static"] == digest(clean)["chunks__static"]
    assert_sound(lake)


def test_one_name_cannot_get_two_settings_from_two_writers(tmp_path, lake, monkeypatch):
    for corpus in ("a", "b"):
        source = write_conversations(tmp_path / f"{corpus}.jsonl", [conversation(corpus, 6)])
        ingest(IngestSettings(lake, corpus, (str(source),)))
    meanwhile(monkeypatch, lambda: represent(RepresentSettings(lake, "b", ("chunks-x:size=200,overlap=0",))))
    with pytest.raises(UsageError, match="other settings"):
        represent(RepresentSettings(lake, "a", ("chunks-x:size=50,overlap=10",)))


def test_versions_that_contradict_each_other_are_named_even_when_nothing_else_lands(tmp_path, lake):
    first, second = conversation("c", 3, seed=1), conversation("c", 3, seed=2)
    source = write_conversations(tmp_path / "both.jsonl", [first, second])
    for _ in range(2):
        with pytest.raises(TooManyDeadLettersError, match="conflicting_versions") as caught:
            ingest_into(lake, source)
        assert caught.value.document["snapshot_id"] is None


def test_questions_of_a_repeated_conversation_are_not_lost_without_a_word(tmp_path, lake):
    first, second = conversation("c", 4), conversation("c", 4)
    first["questions"] = [{"question_id": "q1", "text": "what", "answer": "river", "evidence": ["t1"]}]
    second["questions"] = [{"question_id": "q2", "text": "where", "answer": "stone", "evidence": ["t2"]}]
    for shard_bytes in (128 << 20, 100):
        target = f"{lake}{shard_bytes}"
        source = write_conversations(tmp_path / "twice.jsonl", [first, second])
        with pytest.raises(TooManyDeadLettersError, match="questions:official of conversation 'c'"):
            ingest_into(target, source, shard_bytes=shard_bytes)


def test_a_conversation_repeated_as_it_is_costs_nothing(tmp_path, lake):
    source = write_conversations(tmp_path / "twice.jsonl", [conversation("c", 4)] * 2)
    assert ingest_into(lake, source)["dead_letters"] == {"repeated_conversation": 1}
    other = f"{lake}-cut"
    assert ingest_into(other, source, shard_bytes=100)["dead_letters"] == {}
    assert digest(other)["turns"] == digest(lake)["turns"]


def test_text_of_a_forgotten_conversation_never_reaches_the_disk_again(tmp_path, lake):
    source = write_conversations(tmp_path / "c.jsonl", [conversation(f"c{n}", 6) for n in range(3)])
    ingest_into(lake, source)
    before = open_lake(lake).latest().snapshot_id
    forget(ForgetSettings(lake, "c", "c1"))
    files = sorted(
        path for path in Path(lake).rglob("*.parquet") if "runs" not in path.parts and "dead_letters" not in path.parts
    )
    assert ingest_into(lake, source)["snapshot_id"] is None
    assert files == sorted(
        path for path in Path(lake).rglob("*.parquet") if "runs" not in path.parts and "dead_letters" not in path.parts
    )
    with pytest.raises(UsageError, match="forgotten"):
        restore(open_lake(lake), before, run_id="r")


@pytest.mark.parametrize("what", ["*.manifest.json", "*.parts.parquet", "turns", "units", "vectors"])
def test_a_staged_file_that_was_cut_is_staged_again(tmp_path, lake, monkeypatch, what):
    source = write_conversations(tmp_path / "c.jsonl", [conversation(f"c{n}", 6) for n in range(3)])

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(landing, "publish_shards", stopped)
        with pytest.raises(KeyboardInterrupt):
            ingest_into(lake, source)
    folder = {"turns": "parquet/turns", "units": "parquet/units", "vectors": "lance"}.get(what)
    pattern = ("*.lance" if what == "vectors" else "*.parquet") if folder else what
    found = [path for path in (Path(lake) / (folder or "staged")).rglob(pattern) if path.is_file()]
    assert found
    for path in found:
        path.write_bytes(path.read_bytes()[:40])
    ingest_into(lake, source)
    assert_sound(lake)


def test_a_writer_killed_before_the_first_version_of_a_lance_table_blocks_nobody(tmp_path, lake):
    open_lake(lake, create=True)
    (Path(lake) / "lance" / "chunks__static.lance" / "_versions").mkdir(parents=True)
    ingest_into(lake, write_conversations(tmp_path / "c.jsonl", [conversation("c", 6)]))
    assert_sound(lake)


def test_a_lake_that_lost_its_snapshots_is_not_taken_for_a_new_one(tmp_path, lake):
    source = write_conversations(tmp_path / "c.jsonl", [conversation("c", 6)])
    ingest_into(lake, source)
    shutil.rmtree(Path(lake) / "parquet" / "snapshots" / "_delta_log")
    with pytest.raises(LakeCorruptError, match="no snapshots"):
        ingest_into(lake, source)


def test_a_shrunken_conversation_takes_its_old_questions_with_it(tmp_path, lake):
    made = conversation("c", 6)
    made["questions"] = [{"question_id": "q", "text": "what", "answer": "river", "evidence": ["t5"]}]
    ingest_into(lake, write_conversations(tmp_path / "c.jsonl", [made]))
    made["turns"] = made["turns"][:3]
    del made["questions"]
    again = ingest_into(lake, write_conversations(tmp_path / "c.jsonl", [made]))
    assert again["stale"] == ["questions:official"]
    with connect(open_lake(lake)) as connection:
        assert connection.sql("select count(*) from evidence").fetchall() == [(0,)]
    assert_sound(lake)
