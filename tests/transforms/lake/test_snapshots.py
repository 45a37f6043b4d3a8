"""Snapshots, tags, restore, and DuckDB over them."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memlake.schemas import ALL
from memlake.transforms.base.errors import LakeCorruptError, NotFoundError, UsageError
from memlake.transforms.lake.commit.audit import verify
from memlake.transforms.lake.commit.publish import restore
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake


def count(connection, what):
    return connection.execute(f"select count(*) from {what}").fetchall()[0][0]


def test_a_snapshot_is_found_by_id_and_by_tag(shards):
    first = shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.lake.tag("before")
    shards.publish(shards.stage("two", {"b": ["two"]}))
    assert shards.lake.snapshot("before").snapshot_id == first.snapshot_id
    shards.lake.tag("before")
    assert shards.lake.snapshot("before").sequence == 2
    with pytest.raises(NotFoundError, match="before"):
        shards.lake.snapshot("befor")
    with pytest.raises(UsageError):
        shards.lake.tag("latest")


def test_an_empty_lake_and_no_lake_say_what_to_run(lake, tmp_path):
    with pytest.raises(NotFoundError, match="no snapshot"):
        lake.snapshot()
    with pytest.raises(NotFoundError, match="does not exist"):
        open_lake(str(tmp_path / "nowhere"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="not empty"):
        open_lake(str(tmp_path / "full"), create=True)
    with pytest.raises(UsageError, match="only local"):
        open_lake("s3://bucket/lake")


def test_restore_makes_an_old_snapshot_the_newest_and_loses_none(shards):
    first = shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.publish(shards.stage("two", {"a": ["changed"], "b": ["two"]}))
    restored = restore(shards.lake, first.snapshot_id, run_id="r")
    assert restored.sequence == 3
    assert shards.contents() == {"a": ["one"]}
    shards.publish(shards.stage("three", {"c": ["three"]}))
    assert shards.contents() == {"a": ["one"], "c": ["three"]}
    assert shards.contents(shards.lake.snapshots()["snapshot_id"][1].as_py()) == {"a": ["changed"], "b": ["two"]}


def test_every_table_is_a_view_with_its_descriptions(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    with connect(shards.lake) as connection:
        for table in ALL:
            assert [row[0] for row in connection.execute(f"describe {table.name}").fetchall()] == table.schema.names
            found = connection.execute(
                "select column_name, comment from duckdb_columns() where table_name = $name", {"name": table.name}
            ).fetchall()
            assert dict(found) == table.descriptions
        assert count(connection, "duckdb_extensions() where loaded and install_mode <> 'STATICALLY_LINKED'") == 0


def test_a_lake_whose_path_holds_glob_signs_and_quotes_is_read(tmp_path, shards):
    shards.publish(shards.stage("one", {"a": ["one", "two"]}))
    moved = tmp_path / "it's [odd] *?"
    shards.lake.root.rename(moved)
    with connect(open_lake(str(moved))) as connection:
        assert count(connection, "turns") == 2
        assert count(connection, "turns__test") == 2


def test_the_settings_are_the_ones_asked_for(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    with connect(shards.lake, threads=1, memory_limit="300MB", temp_directory="/tmp/elsewhere") as connection:
        found = connection.execute(
            "select current_setting('threads'), current_setting('memory_limit'), current_setting('temp_directory')"
        ).fetchall()[0]
        assert found == (1, "286.1 MiB", "/tmp/elsewhere")


def test_a_missing_file_is_found_and_named(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    for file in shards.lake.snapshot().files("turns"):
        file.unlink()
    found = verify(shards.lake)
    assert [(finding.audit, finding.rows) for finding in found] == [("files", 1)]
    assert "turns" in found[0].first


def test_a_lost_log_is_an_error_that_names_the_table(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    for file in (shards.lake.table_path("turns") / "_delta_log").iterdir():
        file.unlink()
    with pytest.raises(LakeCorruptError, match="table=turns"):
        shards.lake.snapshot().read("turns")


def test_verify_looks_at_every_conversation(shards):
    # The fixture's turns have no spans, so that each of them offends one audit.
    shards.publish(shards.stage("one", {"a": ["one"], "b": ["two"], "c": ["three"]}))
    found = {finding.audit: finding for finding in verify(shards.lake)}
    assert found["turn_spans"].rows == 3
    assert found["files"].rows == found["keys"].rows == 0


@pytest.mark.parametrize(("name", "sibling"), [("lake*", "lakes"), ("lake?", "lakes"), ("lake[s]", "lakes")])
def test_a_lake_whose_path_read_as_a_pattern_is_anothers_reads_only_its_own_files(tmp_path, shards, name, sibling):
    shards.publish(shards.stage("one", {"a": ["one", "two"]}))
    for copy in (name, sibling):
        shutil.copytree(shards.lake.root, tmp_path / copy)
    for file in open_lake(str(tmp_path / sibling)).snapshot().files("turns"):
        rows = pq.read_table(file, partitioning=None)
        pq.write_table(pa.concat_tables([rows] * 5), file)
    with connect(open_lake(str(tmp_path / name))) as connection:
        assert count(connection, "turns") == 2
