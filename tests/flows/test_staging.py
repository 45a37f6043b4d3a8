"""What a run stages, whose work it takes up, and when it stages again."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations

from memlake.flows.forget import ForgetSettings, forget
from memlake.flows.ingest import ingest
from memlake.flows.run import landing
from memlake.flows.run.planning import plan_files
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.base.errors import EmbedderMismatchError, LakeBusyError, UsageError
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.embedder import EmbedderCard
from memlake.transforms.embed.static import load_static
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.read.catalogue import REVISIONS


def settings(tmp_path: Path, *sources: Path, **more) -> IngestSettings:
    return IngestSettings(str(tmp_path / "lake"), more.pop("corpus", "c"), tuple(map(str, sources)), **more)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "chats.jsonl", [conversation(f"c{n}", 10) for n in range(3)])


def data_files(lake: Path) -> set[Path]:
    """Every data file of the lake's tables, journals aside; no logs."""
    journals = {"runs", "dead_letters", "calls"}
    found = {path for path in (lake / "parquet").rglob("*.parquet") if not journals & set(path.parts)}
    return found | set((lake / "lance").rglob("*.lance"))


def stage_only(wanted: IngestSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest that dies when everything is staged and nothing committed."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(landing, "publish_shards", killed)
        with pytest.raises(KeyboardInterrupt):
            ingest(wanted)
    assert list((Path(wanted.lake) / "staged").glob("*.manifest.json"))


def test_a_second_ingest_writes_no_data_file(tmp_path, source):
    ingest(settings(tmp_path, source))
    before = data_files(tmp_path / "lake")
    assert ingest(settings(tmp_path, source))["skipped"] == 3
    assert data_files(tmp_path / "lake") == before
    assert list((tmp_path / "lake" / "staged").iterdir()) == []


def test_what_was_staged_before_a_crash_is_committed_and_not_read_again(tmp_path, source, monkeypatch):
    stage_only(settings(tmp_path, source), monkeypatch)
    staged = data_files(tmp_path / "lake")

    def no_reading(*_: object) -> Iterator[None]:
        raise AssertionError("read again")

    monkeypatch.setattr("memlake.transforms.read.beam.read_batches", no_reading)
    assert ingest(settings(tmp_path, source))["counts"]["conversations"]["added"] == 3
    # Only the committer's own rows of parts and representations came after the crash.
    new = data_files(tmp_path / "lake") - staged
    assert {path.relative_to(tmp_path / "lake" / "parquet").parts[0] for path in new} <= {
        "parts",
        "representations",
        "snapshots",
    }
    assert_sound(tmp_path / "lake")


@pytest.mark.parametrize("other", [{"corpus": "d"}, {"chunk_size": 100, "overlap": 10}])
def test_what_another_run_staged_under_other_settings_is_not_taken_for_this_ones(tmp_path, source, monkeypatch, other):
    stage_only(settings(tmp_path, source), monkeypatch)
    ingest(settings(tmp_path, source, **other))
    ingest(replace(settings(tmp_path, source, **other), lake=str(tmp_path / "clean")))
    assert digest(tmp_path / "lake") == digest(tmp_path / "clean")
    assert_sound(tmp_path / "lake")


def shard_names(wanted: IngestSettings, card: EmbedderCard | None = None) -> tuple[str, ...]:
    """The names of an ingest's shards on a lake of its own."""
    lake = open_lake(wanted.lake, create=True)
    made = landing.build_of(lake, lake.latest(), wanted.corpus, wanted.specs(), wanted.embedder_name)
    if card is not None:
        made = replace(made, fingerprint=landing.fingerprint(card))
    plan = plan_files(wanted)
    return tuple(shard.name() for shard in plan.shards(landing.seed_of(made, plan.fingerprint)))


def test_a_manifest_is_named_by_all_that_decides_what_is_staged(tmp_path, source, monkeypatch):
    plain = settings(tmp_path, source)
    corrections = tmp_path / "corrections.json"
    corrections.write_text("[]")
    card = load_static().card
    names = {
        "plain": shard_names(plain),
        "corpus": shard_names(replace(plain, corpus="d")),
        "representations": shard_names(replace(plain, representations=("chunks", "turns"))),
        "settings": shard_names(replace(plain, representations=("chunks", "chunks-a:size=100,overlap=10"))),
        "other settings": shard_names(replace(plain, representations=("chunks", "chunks-a:size=100,overlap=20"))),
        "no embedder": shard_names(replace(plain, embedder="none")),
        "revision of the embedder": shard_names(plain, replace(card, revision="other")),
        "corrections": shard_names(replace(plain, corrections=str(corrections))),
    }
    corrections.write_text("[ ]")
    names["other corrections"] = shard_names(replace(plain, corrections=str(corrections)))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(source.read_bytes())
    assert shard_names(replace(plain, sources=(str(copy),))) == names["plain"]
    copy.write_bytes(source.read_bytes() + b"\n")
    names["bytes"] = shard_names(replace(plain, sources=(str(copy),)))
    with monkeypatch.context() as patch:
        patch.setitem(REVISIONS, "memlake-conversations", REVISIONS["memlake-conversations"] + 1)
        names["revision of the reader"] = shard_names(plain)
    assert len(set(names.values())) == len(names)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """Let another writer act between staging and the commit, once; returns the calls of the committer."""
    whole, calls = landing.publish_shards, []

    def late(*args, **more):
        calls.append(len(calls))
        if len(calls) == 1:
            act()
        return whole(*args, **more)

    monkeypatch.setattr(landing, "publish_shards", late)
    return calls


def test_a_shard_staged_against_a_base_that_moved_is_staged_again(tmp_path, source, monkeypatch):
    ingest(settings(tmp_path, source))
    newer = [conversation(f"c{n}", 10, seed=2 if n == 1 else 1) for n in range(3)]
    other = write_conversations(tmp_path / "other.jsonl", newer)
    more = write_conversations(
        tmp_path / "more.jsonl", [*(conversation(f"c{n}", 10) for n in range(3)), conversation("new", 6)]
    )
    calls = meanwhile(monkeypatch, lambda: ingest(settings(tmp_path, other)))
    made = ingest(settings(tmp_path, more))
    assert len(calls) > 2
    # Last to publish, so what this run read stands; the other's version of c1 was replaced, not kept beside it.
    assert made["counts"]["conversations"] == {"added": 1, "replaced": 1, "removed": 0}
    ingest(replace(settings(tmp_path, more), lake=str(tmp_path / "clean")))
    assert digest(tmp_path / "lake")["turns"] == digest(tmp_path / "clean")["turns"]
    assert digest(tmp_path / "lake")["chunks__static"] == digest(tmp_path / "clean")["chunks__static"]
    assert_sound(tmp_path / "lake")


def test_the_lock_is_waited_for_as_long_as_was_said(tmp_path, source):
    ingest(settings(tmp_path, source))
    more = write_conversations(tmp_path / "more.jsonl", [conversation("new", 6)])
    with open_lake(str(tmp_path / "lake")).lock("other"), pytest.raises(LakeBusyError, match="waited 0 s"):
        ingest(settings(tmp_path, more, lock_timeout_s=0.0))
    with connect(open_lake(str(tmp_path / "lake"))) as connection:
        ended = connection.sql("select outcome from runs where event = 'ended' order by logged_at").fetchall()
    assert ended == [("published",), ("lake_busy",)]


class Other:
    """An embedder of the name 'static' in another revision."""

    def __init__(self) -> None:
        self.card = replace(load_static().card, revision="other")

    def embed(self, texts):
        return np.ones((len(texts), self.card.dimension), np.float32)


def test_vectors_of_another_revision_are_not_mixed_with_stored_ones(tmp_path, source, monkeypatch):
    ingest(settings(tmp_path, source))
    more = write_conversations(tmp_path / "more.jsonl", [conversation("new", 6)])
    monkeypatch.setitem(catalogue._loaded, "static", Other())
    with pytest.raises(EmbedderMismatchError, match="stored, 'other' asked for"):
        ingest(settings(tmp_path, more))
    assert open_lake(str(tmp_path / "lake")).snapshots().num_rows == 1


def test_a_representation_stored_with_other_settings_is_refused_by_its_name(tmp_path, source):
    ingest(settings(tmp_path, source, representations=("chunks-a:size=100,overlap=10",), embedder="none"))
    with pytest.raises(UsageError, match="stored with other settings: overlap=10 stored, 20 asked for"):
        ingest(settings(tmp_path, source, representations=("chunks-a:size=100,overlap=20",), embedder="none"))
    assert open_lake(str(tmp_path / "lake")).snapshots().num_rows == 1


def test_new_turns_take_the_questions_that_were_not_read_again_with_them(tmp_path):
    first = conversation("c", 6) | {"questions": [{"text": "who?", "answer": "Ann", "evidence": ["t1"]}]}
    ingest(settings(tmp_path, write_conversations(tmp_path / "first.jsonl", [first])))
    made = ingest(settings(tmp_path, write_conversations(tmp_path / "grown.jsonl", [conversation("c", 8)])))
    assert made["counts"]["conversations"]["replaced"] == 1
    assert made["stale"] == ["questions:official"]
    snapshot = open_lake(str(tmp_path / "lake")).snapshot()
    assert snapshot.read("questions").num_rows == snapshot.read("evidence").num_rows == 0
    assert "questions:official" not in snapshot.read("parts")["part"].to_pylist()
    assert_sound(tmp_path / "lake")


def test_a_forgotten_conversation_is_not_made_again(tmp_path, source):
    ingest(settings(tmp_path, source))
    forget(ForgetSettings(str(tmp_path / "lake"), "c", "c1"))
    before = data_files(tmp_path / "lake")
    assert ingest(settings(tmp_path, source))["snapshot_id"] is None
    assert data_files(tmp_path / "lake") == before
