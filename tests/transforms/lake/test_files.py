"""What the lake's files carry so that old snapshots stay readable and texts stay out of logs."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from memlake.transforms.lake.storage.files import open_lance
from memlake.transforms.lake.storage.lake import Lake

TEXTS = {"text", "key_text", "show_text", "attributes", "unit_id"}


def delta_tables(lake: Lake) -> list[DeltaTable]:
    return [DeltaTable(path) for path in sorted((lake.root / "parquet").iterdir())]


def test_no_log_of_a_table_is_ever_cleaned_up(shards):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    shards.lake.tag("good")
    tables = delta_tables(shards.lake)
    assert len(tables) >= 6
    for table in tables:
        configuration = table.metadata().configuration
        assert configuration["delta.logRetentionDuration"] == "interval 36500 days"
        assert configuration["delta.deletedFileRetentionDuration"] == "interval 36500 days"


def test_no_text_is_in_the_statistics_of_a_file_or_a_log(shards):
    shards.publish(shards.stage("one", {"a": ["a secret text"], "b": ["another"]}))
    for table in ("turns", "units"):
        [file] = shards.lake.snapshot().files(table)
        group = pq.read_metadata(file).row_group(0)
        columns = {group.column(place).path_in_schema: group.column(place) for place in range(group.num_columns)}
        assert columns["conversation_id"].statistics.max == "b"
        assert [name for name in TEXTS & columns.keys() - {"unit_id"} if columns[name].statistics is not None] == []
        for entry in (shards.lake.table_path(table) / "_delta_log").glob("*.json"):
            assert "secret" not in entry.read_text()
            for line in entry.read_text().splitlines():
                added = json.loads(line).get("add")
                if added:
                    # Of every column there are bounds, or other readers take it for null; of strings they say nothing.
                    stats = json.loads(added["stats"])
                    strings = {name for name, low in stats["minValues"].items() if isinstance(low, str)}
                    bounded = {name for name in strings if stats["minValues"][name] or name == "conversation_id"}
                    assert bounded - {"session_at", "said_at", "event_at"} == {"conversation_id"}
                    assert strings >= TEXTS & {"text", "show_text"} & columns.keys()


def test_a_pinned_version_of_vectors_is_tagged_with_the_snapshot_before_it_is_published(shards, monkeypatch):
    append, seen = Lake.append_snapshot, []

    def looking(self, *head, snapshot_id, **more):
        seen.append((snapshot_id, open_lance(self.root, "turns__test").tags.list()))
        append(self, *head, snapshot_id=snapshot_id, **more)

    monkeypatch.setattr(Lake, "append_snapshot", looking)
    made = [shards.publish(shards.stage(str(number), {"a": [str(number)]})) for number in range(2)]
    tags = open_lance(shards.lake.root, "turns__test").tags.list()
    for published, (snapshot_id, then) in zip(made, seen, strict=True):
        assert snapshot_id == published.snapshot_id
        pin = shards.lake.snapshot(snapshot_id).pins["turns__test"]
        assert then[snapshot_id]["version"] == tags[snapshot_id]["version"] == pin.version


@pytest.mark.parametrize("order", [(2, 3), (3, 2)])
def test_the_latest_snapshot_has_the_highest_sequence_wherever_its_row_stands(shards, order):
    shards.publish(shards.stage("one", {"a": ["one"]}))
    first = shards.lake.latest()
    for sequence in order:
        book, base = shards.lake.head()[0], replace(first, sequence=sequence - 1)
        shards.lake.append_snapshot(book, base, first.pins, run_id="r", operation="o", snapshot_id=f"s{sequence}")
    assert shards.lake.snapshots()["sequence"].to_pylist() == [1, 2, 3]
    assert shards.lake.latest().snapshot_id == shards.lake.snapshot().snapshot_id == "s3"


def test_two_snapshots_of_equal_contents_have_ids_of_their_own(shards):
    from memlake.transforms.lake.commit.publish import restore

    first = shards.publish(shards.stage("one", {"a": ["one"]}))
    restored = [restore(shards.lake, first.snapshot_id, run_id="r").snapshot_id for _ in range(2)]
    assert len({first.snapshot_id, *restored}) == 3
