"""Publishing is fenced: a writer that is not alone publishes nothing, however far it came."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from small_tables import rows_of

from memlake.schemas import ALL, CELLS, TAGS
from memlake.transforms.base.errors import LakeBusyError, LakeConflictError
from memlake.transforms.lake.commit import publish
from memlake.transforms.lake.commit.publish import forget, publish_files, publish_shards, restore
from memlake.transforms.lake.stage.manifest import staged_manifests
from memlake.transforms.lake.storage.files import StagedFile, Stager, open_lance
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Snapshot


def no_audit(candidate: Snapshot, audited: pa.Table) -> dict[str, pa.Table]:
    return {}


def cell_files(lake: Lake) -> list[StagedFile]:
    stager = Stager(lake.root)
    stager.write(CELLS, rows_of(CELLS, [{}]))
    return stager.close()[0]


# Everything that publishes, ready to run on a lake in which the conversation 'a' stands and the shard 'two' is staged.
WRITERS: dict[str, Callable[[Lake], object]] = {
    "shards": lambda lake: publish_shards(
        lake,
        staged_manifests(lake.staged, ["two"]),
        corpus="c",
        run_id="r",
        operation="ingest",
        audit=no_audit,
        lock_timeout_s=0,
    ),
    "files": lambda lake: publish_files(
        lake,
        cell_files(lake),
        conversations={"c": pa.array([], pa.string())},
        run_id="r",
        operation="study",
        lock_timeout_s=0,
    ),
    "forget": lambda lake: forget(lake, "c", "a", run_id="r", audit=no_audit, lock_timeout_s=0),
    "restore": lambda lake: restore(lake, "latest", run_id="r", lock_timeout_s=0),
}


@pytest.fixture
def lake(lake: Lake, shards) -> Lake:
    shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.stage("two", {"b": ["two"]})
    return lake


def take_over(lake: Lake) -> None:
    """What a writer does that holds this one's heartbeat for stale."""
    path = lake.root / "lock"
    path.write_text(json.dumps({**json.loads(path.read_text()), "token": "thief"}))


def publish_meanwhile(lake: Lake) -> None:
    book, base = lake.head()
    lake.append_snapshot(book, base, base.pins, run_id="other", operation="ingest", snapshot_id="other")


def heads(lake: Lake) -> dict[str, int]:
    """The newest version of every table of conversations, published or not."""
    found = {name: DeltaTable(lake.table_path(name)).version() for name in ("turns", "units", "parts")}
    return found | {"vectors": open_lance(lake.root, "turns__test").version}


@pytest.mark.parametrize("writer", WRITERS)
def test_whoever_publishes_waits_for_the_lock_first(lake: Lake, writer: str):
    with lake.lock("other", timeout_s=0), pytest.raises(LakeBusyError, match="run=other"):
        WRITERS[writer](lake)
    assert lake.snapshots().num_rows == 1
    WRITERS[writer](lake)
    assert lake.snapshots().num_rows == 2


def test_a_tag_waits_for_the_lock_too(lake: Lake):
    with lake.lock("other", timeout_s=0), pytest.raises(LakeBusyError, match="run=other"):
        lake.tag("good", lock_timeout_s=0)
    assert lake.tags() == {}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_snapshot_published_since_the_base_was_read_stops_this_one(lake: Lake, monkeypatch, writer: str):
    whole = Lake.append_snapshot

    with monkeypatch.context() as patch:

        def late(*args, **more):
            patch.undo()
            publish_meanwhile(lake)
            whole(*args, **more)

        patch.setattr(Lake, "append_snapshot", late)
        with pytest.raises(LakeConflictError):
            WRITERS[writer](lake)
    assert lake.snapshots()["snapshot_id"].to_pylist()[1:] == ["other"]
    assert lake.latest().read("turns")["text"].to_pylist() == ["one"]


@pytest.mark.parametrize("writer", ["shards", "files", "forget"])
def test_a_writer_that_lost_its_lock_at_the_last_moment_publishes_nothing(lake: Lake, monkeypatch, writer: str):
    def losing(*args, **more):
        pin = whole(*args, **more)
        take_over(lake)
        return pin

    last = "commit_table" if writer == "files" else "commit_fragments"
    whole = getattr(publish, last)
    with monkeypatch.context() as patch:
        patch.setattr(publish, last, losing)
        with pytest.raises(LakeConflictError, match="taken over"):
            WRITERS[writer](lake)
    assert lake.snapshots().num_rows == 1


def test_a_restore_that_lost_its_lock_publishes_nothing(lake: Lake, monkeypatch):
    whole = Lake.snapshot

    def losing(self: Lake, at: str = "latest") -> Snapshot:
        take_over(lake)
        return whole(self, at)

    monkeypatch.setattr(Lake, "snapshot", losing)
    with pytest.raises(LakeConflictError, match="taken over"):
        WRITERS["restore"](lake)
    assert lake.snapshots().num_rows == 1


@pytest.mark.parametrize(("stage", "moved"), [("plan_changes", set()), ("commit_table", {"turns", "units", "parts"})])
def test_a_writer_that_lost_its_lock_commits_to_no_further_table(lake: Lake, monkeypatch, stage: str, moved: set[str]):
    before = heads(lake)
    whole = getattr(publish, stage)

    def losing(*args, **more):
        made = whole(*args, **more)
        # The last table of Delta: what comes next is Lance.
        if stage == "plan_changes" or set(heads_that_moved()) == moved:
            take_over(lake)
        return made

    def heads_that_moved() -> Iterator[str]:
        return (name for name, version in heads(lake).items() if version != before[name])

    with monkeypatch.context() as patch:
        patch.setattr(publish, stage, losing)
        with pytest.raises(LakeConflictError, match="taken over"):
            WRITERS["shards"](lake)
    assert set(heads_that_moved()) == moved


@pytest.mark.parametrize("before", [[], ["good"]])
def test_a_tag_is_not_written_over_one_that_came_meanwhile(lake: Lake, monkeypatch, before: list[str]):
    for name in before:
        lake.tag(name)
    opened, stale = Lake.open_table, lake.open_table(TAGS)
    lake.tag("better")
    with monkeypatch.context() as patch:
        patch.setattr(Lake, "open_table", lambda self, table: stale if table is TAGS else opened(self, table))
        with pytest.raises((DeltaError, LakeConflictError)):
            lake.tag("best")
    assert set(lake.tags()) == {*before, "better"}


def test_tables_that_two_writers_create_at_once_are_described_once(tmp_path):
    lake, together = Lake(tmp_path), Barrier(2)

    def create(_: int) -> None:
        for table in ALL:
            together.wait(timeout=60)
            lake.open_table(table)

    with ThreadPoolExecutor(2) as writers:
        list(writers.map(create, range(2)))
    versions = {table.name: DeltaTable(lake.table_path(table.name)).version() for table in ALL}
    assert versions == dict.fromkeys(versions, 0)
