"""Commits: what lands, what goes, and what a crash or a second writer may leave."""

import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from small_tables import rows_of

from memlake.schemas import CELLS, TURNS
from memlake.transforms.base.errors import AuditError, LakeConflictError
from memlake.transforms.lake.commit.publish import forget, publish_files
from memlake.transforms.lake.stage.manifest import StageAgainError
from memlake.transforms.lake.storage.files import Stager, open_lance
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.tables import active_files, commit_table


def test_a_first_publish_makes_every_table_readable(shards):
    shards.stage("one", {"a": ["hello", "there"], "b": ["x"]})
    published = shards.publish("one")
    assert published.snapshot_id is not None
    assert published.base_snapshot_id is None
    assert shards.contents() == {"a": ["hello", "there"], "b": ["x"]}
    assert published.counts["turns"].added == 3
    assert published.counts["turns__test"].added == 3


def test_the_same_shard_again_publishes_nothing(shards):
    shards.publish(shards.stage("one", {"a": ["hello"]}))
    again = shards.publish(shards.stage("one", {"a": ["hello"]}))
    assert again.snapshot_id is None
    assert shards.lake.snapshots().num_rows == 1
    assert not list(shards.lake.staged.iterdir())


def test_a_changed_conversation_replaces_its_rows_and_spares_its_neighbours(shards):
    first = shards.publish(shards.stage("one", {"a": ["old", "older"], "b": ["stays"]}))
    second = shards.publish(shards.stage("two", {"a": ["new"]}))
    assert shards.contents() == {"a": ["new"], "b": ["stays"]}
    assert shards.contents(first.snapshot_id) == {"a": ["old", "older"], "b": ["stays"]}
    assert (second.counts["turns"].replaced, second.counts["turns"].added) == (1, 0)


def test_new_turns_take_every_representation_that_was_not_made_again_with_them(shards):
    shards.publish(shards.stage("one", {"a": ["old"], "b": ["stays"]}))
    from memlake.transforms.base.batch import PARTS_SEEN
    from memlake.transforms.lake.stage.manifest import Manifest, put_manifest, read_manifest, write_beside

    shards.stage("two", {"a": ["new"]})
    manifest = read_manifest(shards.lake.staged, "two")
    turns_only = manifest.read_parts(shards.lake.staged).filter(pa.array([True, False, False]))
    beside = write_beside(shards.lake.staged, turns_only.cast(PARTS_SEEN), "parts")
    files = tuple(file for file in manifest.files if file.table in ("turns", "conversations"))
    put_manifest(shards.lake.staged, Manifest("three", "c", files, (), (beside,), (), {}))
    published = shards.publish("three")
    assert published.stale == ("units:turns", "vectors:turns__test")
    snapshot = shards.lake.snapshot()
    assert snapshot.read("units")["conversation_id"].to_pylist() == ["b"]
    assert snapshot.lance_table("turns__test").to_table()["conversation_id"].to_pylist() == ["b"]
    assert published.counts["units"].removed == 1


def test_what_a_crashed_writer_committed_is_put_back_by_the_next_commit(shards, monkeypatch):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.stage("two", {"a": ["changed"], "b": ["two"]})

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "append_snapshot", killed)
        with pytest.raises(KeyboardInterrupt):
            shards.publish("two")
    assert shards.contents() == {"a": ["one"]}
    shards.publish(shards.stage("three", {"c": ["three"]}))
    assert shards.contents() == {"a": ["one"], "c": ["three"]}
    shards.publish("two")
    assert shards.contents() == {"a": ["changed"], "b": ["two"], "c": ["three"]}


def test_a_crash_before_the_first_publish_leaves_nothing_behind(shards, monkeypatch):
    shards.stage("one", {"a": ["one"]})
    with monkeypatch.context() as patch:
        patch.setattr(Lake, "append_snapshot", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            shards.publish("one")
    shards.publish(shards.stage("two", {"b": ["two"]}))
    assert shards.contents() == {"b": ["two"]}


def test_a_failed_audit_publishes_nothing_and_its_manifests_are_never_picked_up(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.stage("two", {"b": ["two"]})
    with pytest.raises(AuditError, match="rebuild"):
        shards.publish("two", audit=lambda *_: {"rebuild": pa.table({"conversation_id": ["b"]})})
    assert shards.contents() == {"a": ["one"]}
    with pytest.raises(StageAgainError):
        shards.publish("two")


def test_a_second_head_is_refused(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    lake = shards.lake
    book, base = lake.head()
    shards.publish(shards.stage("two", {"b": ["two"]}))
    with pytest.raises(LakeConflictError):
        lake.append_snapshot(book, base, base.pins, run_id="late", operation="ingest")
    assert lake.snapshots().num_rows == 2


def test_a_commit_to_a_moved_lance_table_publishes_nothing(shards, monkeypatch):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.stage("two", {"b": ["two"]})
    lake = shards.lake
    from memlake.transforms.lake.storage import tables

    def moving(root, table):
        dataset = open_lance(root, table)
        open_lance(root, table).delete("true and unit_id = 'nothing'")
        open_lance(root, table).update_config({"moved": "yes"})
        return dataset

    monkeypatch.setattr(tables, "open_lance", moving)
    with pytest.raises(LakeConflictError):
        shards.publish("two")
    assert lake.snapshots().num_rows == 1


def test_a_missing_staged_file_asks_for_its_shard_again(shards):
    shards.stage("one", {"a": ["one"]})
    for folder in (shards.lake.root / "parquet" / "turns").glob("corpus=*"):
        shutil.rmtree(folder)
    with pytest.raises(StageAgainError) as caught:
        shards.publish("one")
    assert caught.value.shards == ("one",)


def test_a_shard_that_left_out_what_the_base_no_longer_has_is_staged_again(shards):
    first = shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.publish(shards.stage("two", {"a": ["two"]}))
    assert first.snapshot_id is not None
    shards.stage("three", {"b": ["b"]}, unchanged={"a": ["one"]})
    with pytest.raises(StageAgainError):
        shards.publish("three")


def test_one_conversation_staged_twice_lands_once(shards):
    shards.publish(shards.stage("one", {"a": ["x"], "b": ["y"]}), shards.stage("two", {"a": ["x"], "c": ["z"]}))
    assert shards.contents() == {"a": ["x"], "b": ["y"], "c": ["z"]}


def test_the_version_with_more_turns_wins_whatever_the_order(shards):
    short, long = shards.stage("one", {"a": ["x"]}), shards.stage("two", {"a": ["x", "y"]})
    shards.publish(short, long)
    assert shards.contents() == {"a": ["x", "y"]}
    short, long = shards.stage("three", {"b": ["x"]}), shards.stage("four", {"b": ["x", "y"]})
    shards.publish(long, short)
    assert shards.contents() == {"a": ["x", "y"], "b": ["x", "y"]}


def test_versions_that_contradict_each_other_land_neither(shards):
    published = shards.publish(
        shards.stage("one", {"a": ["x", "p"], "b": ["b"]}), shards.stage("two", {"a": ["x", "q"]})
    )
    assert published.conflicts == ("conversation 'a'",)
    assert shards.contents() == {"b": ["b"]}


def test_hostile_conversation_ids_hit_only_themselves(shards):
    names = ["O'Brien", "x' or 1=1 --", "100%", "a\\b", 'q"q', "日本", ""]
    shards.publish(shards.stage("one", {name: ["old"] for name in names}))
    shards.publish(shards.stage("two", {"x' or 1=1 --": ["new"]}))
    assert shards.contents() == {**{name: ["old"] for name in names}, "x' or 1=1 --": ["new"]}


def test_vacuum_moves_a_head_and_the_next_commit_still_holds(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    table = DeltaTable(shards.lake.table_path("turns"))
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    shards.publish(shards.stage("two", {"b": ["two"]}))
    assert shards.contents() == {"a": ["one"], "b": ["two"]}


def test_a_table_moved_by_another_writer_stops_the_commit(shards, monkeypatch):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    lake, base = shards.lake, shards.lake.latest()
    opened = lake.open_table

    def stale(self, table):
        found = opened(table)
        if table is TURNS:
            write_deltalake(lake.table_path("turns"), base.read("turns"), mode="append", partition_by=["corpus"])
        return found

    monkeypatch.setattr(Lake, "open_table", stale)
    with pytest.raises(LakeConflictError):
        commit_table(lake, base, "turns", remove=list(active_files("turns", base.delta("turns"))), add=[])


def test_a_commit_keeps_the_versions_of_the_tables_that_it_does_not_touch(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    before = shards.lake.latest().pins
    stager = Stager(shards.lake.root)
    stager.write(CELLS, rows_of(CELLS, [{}]))
    nobody = pa.array([], pa.string())
    publish_files(shards.lake, stager.close()[0], conversations={"c": nobody}, run_id="r", operation="study")
    after = shards.lake.latest().pins
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"cells"}
    assert shards.contents() == {"a": ["one"]}


def test_forgetting_is_audited_and_a_failed_audit_forgets_nothing(shards):
    shards.publish(shards.stage("one", {"a": ["one"], "b": ["two"]}))
    looked_at = []

    def failing(candidate, audited):
        looked_at.extend(audited.to_pylist())
        return {"provenance": pa.table({"conversation_id": ["a"]})}

    with pytest.raises(AuditError, match="provenance"):
        forget(shards.lake, "c", "a", run_id="r", audit=failing)
    assert looked_at == [{"corpus": "c", "conversation_id": "a"}]
    assert shards.contents() == {"a": ["one"], "b": ["two"]}
    assert shards.lake.snapshots().num_rows == 1


def test_the_audits_look_at_every_conversation_that_landed_and_at_no_other(shards):
    shards.publish(shards.stage("one", {"a": ["one"], "b": ["two"]}))
    looked_at = []

    def passing(candidate, audited):
        looked_at.append(sorted(audited["conversation_id"].to_pylist()))
        return {}

    shards.publish(shards.stage("two", {"b": ["new"], "c": ["c"], "d": ["d"]}), audit=passing)
    assert looked_at == [["b", "c", "d"]]


@pytest.mark.parametrize("order", [1, -1])
def test_of_versions_that_hold_the_same_turns_the_one_that_the_lake_has_stays(shards, order):
    held, other = {"a": ["x", "y"], "b": ["y", "x"]}, {"a": ["y", "x"], "b": ["x", "y"]}
    shards.publish(shards.stage("one", held))
    again = [shards.stage("two", {}, unchanged=held), shards.stage("three", other)]
    assert shards.publish(*again[::order]).snapshot_id is None
    assert shards.contents() == held


def test_what_was_staged_before_its_conversation_was_forgotten_does_not_land(shards):
    shards.publish(shards.stage("one", {"a": ["one"], "b": ["two"]}))
    shards.stage("two", {"a": ["changed"], "c": ["new"]})
    forget(shards.lake, "c", "a", run_id="r", audit=lambda *_: {})
    shards.publish("two")
    snapshot = shards.lake.snapshot()
    for table in ("conversations", "turns", "units"):
        assert sorted(snapshot.read(table)["conversation_id"].to_pylist()) == ["b", "c"], table
    assert sorted(snapshot.lance_table("turns__test").to_table()["conversation_id"].to_pylist()) == ["b", "c"]
