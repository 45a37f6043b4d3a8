"""Manifests: put once, trusted only while their files are there, and the loser of two attempts leaves nothing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from memlake.transforms.base.batch import PARTS_SEEN, Batch
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.base.errors import LakeCorruptError
from memlake.transforms.lake.stage.bundle import BundleWriter, StagedBundle, write_manifest
from memlake.transforms.lake.stage.manifest import (
    StageAgainError,
    is_finished,
    put_manifest,
    read_manifest,
    staged_manifests,
)
from memlake.transforms.lake.storage.lake import Lake

LETTER = DeadLetter("empty_text", "text of turn 0 is empty", "memory:")


def staged_files(root: Path) -> set[Path]:
    """Data files and what lies beside manifests; no logs, no manifests."""
    return {path for path in root.rglob("*") if path.suffix in {".parquet", ".lance", ".tmp"} and path.is_file()}


def bundle_of(lake: Lake, shards, *, total: int | None = 1) -> StagedBundle:
    """One conversation with a turn, a vector and a dead letter, staged by an attempt of its own."""
    shards.stage("template", {"a": ["one"]})
    template = read_manifest(lake.staged, "template")
    writer = BundleWriter(lake.root, "shard")
    writer.write(Batch("shard", parts=template.read_parts(lake.staged), dead=(LETTER,)))
    if total is not None:
        writer.write(Batch("shard", total=total))
    made = writer.close()
    return replace(made, files=template.files, fragments=template.fragments)


def test_the_first_of_two_attempts_counts_and_the_second_deletes_its_files(lake: Lake, shards):
    first = write_manifest(lake.root, "c", "shard", [bundle_of(lake, shards)])
    (lake.staged / "template.manifest.json").unlink()
    before = staged_files(lake.root)
    second = write_manifest(lake.root, "c", "shard", [bundle_of(lake, shards)])
    assert second == first == read_manifest(lake.staged, "shard")
    assert first.is_whole(lake.root)
    new = staged_files(lake.root) - before
    # What is left of the second attempt are the parts of the helper's own manifest.
    assert {path.name for path in new} == set(read_manifest(lake.staged, "template").parts)


def test_a_manifest_that_stands_is_never_replaced(lake: Lake, shards):
    shards.stage("one", {"a": ["one"]})
    standing = read_manifest(lake.staged, "one")
    assert put_manifest(lake.staged, replace(standing, files=(), conflicts=7)) == standing
    assert read_manifest(lake.staged, "one") == standing
    assert not list(lake.staged.glob("*.tmp"))


@pytest.mark.parametrize("total", [0, 2, None])
def test_no_manifest_is_put_while_a_batch_is_missing(lake: Lake, shards, total: int | None):
    with pytest.raises(LakeCorruptError, match="1 batches staged of"):
        write_manifest(lake.root, "c", "shard", [bundle_of(lake, shards, total=total)])
    assert read_manifest(lake.staged, "shard") is None


def cut_short(file: Path) -> None:
    """What a full disk or a loss of power leaves of a file."""
    file.write_bytes(file.read_bytes()[:-9])


@pytest.mark.parametrize("harm", [Path.unlink, cut_short])
@pytest.mark.parametrize("kind", ["turns", "vectors", "parts", "dead"])
def test_a_shard_is_finished_only_while_every_file_of_its_manifest_is_there_and_whole(
    lake: Lake, shards, kind: str, harm: Callable[[Path], None]
):
    manifest = write_manifest(lake.root, "c", "shard", [bundle_of(lake, shards)])
    assert is_finished(lake.root, "shard")
    [file] = {
        "turns": [lake.table_path("turns") / staged.path for staged in manifest.files if staged.table == "turns"],
        "vectors": manifest.vector_files(lake.root),
        "parts": [lake.staged / name for name in manifest.parts],
        "dead": [lake.staged / name for name in manifest.dead],
    }[kind]
    harm(file)
    assert not manifest.is_whole(lake.root)
    assert not is_finished(lake.root, "shard")


def test_a_shard_with_other_versions_is_finished_when_all_of_them_are(lake: Lake, shards):
    shards.stage("one", {"a": ["one"]})
    put_manifest(lake.staged, replace(read_manifest(lake.staged, "one"), shard="two", conflicts=1))
    assert not is_finished(lake.root, "two")
    with pytest.raises(StageAgainError, match=r"stage again: two$"):
        staged_manifests(lake.staged, ["one", "two"])
    put_manifest(lake.staged, replace(read_manifest(lake.staged, "one"), shard="two-1"))
    assert is_finished(lake.root, "two")
    assert [manifest.shard for manifest in staged_manifests(lake.staged, ["two", "one"])] == ["two", "two-1", "one"]


def test_a_manifest_says_how_many_other_versions_there_are_as_older_ones_did(lake: Lake, shards):
    shards.stage("one", {"a": ["one"]})
    put_manifest(lake.staged, replace(read_manifest(lake.staged, "one"), shard="two", conflicts=3))
    path = lake.staged / "two.manifest.json"
    fields = json.loads(path.read_text())
    assert (list(fields)[-1], fields["rivals"]) == ("rivals", 3)
    assert read_manifest(lake.staged, "two").conflicts == 3
    path.write_text(json.dumps({name: value for name, value in fields.items() if name != "rivals"}))
    assert read_manifest(lake.staged, "two").conflicts == 0


def test_parts_of_several_bundles_add_up(lake: Lake):
    row = pa.Table.from_pylist(
        [{"conversation_id": "a", "part": "turns", "content_hash": "h", "rows": 1, "staged": False}], schema=PARTS_SEEN
    )
    bundles = []
    for total in (0, 2):
        writer = BundleWriter(lake.root, "shard")
        writer.write(Batch("shard", parts=row, seen={"turns": 3}))
        if total:
            writer.write(Batch("shard", total=total))
        bundles.append(writer.close())
    manifest = write_manifest(lake.root, "c", "shard", bundles)
    assert manifest.read_parts(lake.staged).num_rows == 2
    assert manifest.seen == {"turns": 6}
