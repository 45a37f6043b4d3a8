import os
import random

import pytest

from memlake.transforms.base.conversation import Source
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.sources import expand_sources, plan_shards, shard_digest
from memlake.transforms.read.common.json_lines import read_blocks


def test_files_folders_globs_and_uris_name_each_file_once(tmp_path, monkeypatch):
    names = ["b.jsonl", "a[1].jsonl", "deep/c #?% é.jsonl", ".hidden", "deep/.git/d.jsonl"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345")
    monkeypatch.chdir(tmp_path)
    everything = [str(tmp_path), "b.jsonl", "*.jsonl", (tmp_path / "deep/c #?% é.jsonl").as_uri(), "a[1].jsonl"]
    expected = [(str(tmp_path / name), 5) for name in ("a[1].jsonl", "b.jsonl", "deep/c #?% é.jsonl")]
    assert expand_sources(everything) == expected
    assert expand_sources(["**/c*"]) == expected[2:]
    assert expand_sources(["a[1].jsonl"]) == expected[:1]


@pytest.mark.parametrize("source", ["absent.jsonl", "*.nothing", "file:///absent/file"])
def test_a_source_that_names_no_file_is_an_error(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match="names no file"):
        expand_sources([source])


def test_a_store_that_is_not_known_is_an_error():
    with pytest.raises(UsageError, match="no store"):
        expand_sources(["gopher://x/y"])


def test_whole_files_are_grouped_and_files_of_lines_are_cut(tmp_path):
    files = [("a", 10), ("b", 250), ("c", 40), ("d", 60)]
    assert [[s.uri for s in shard] for shard in plan_shards(files, "file", shard_bytes=100)] == [
        ["a"],
        ["b"],
        ["c", "d"],
    ]
    shards = list(plan_shards(files, "turn_lines", shard_bytes=100))
    ranges = [(s.start, s.end) for shard in shards for s in shard if s.uri == "b"]
    assert ranges == [(0, 83), (83, 166), (166, 250)]
    assert list(plan_shards([], "file")) == []


def test_ranges_of_a_plan_hold_every_line_once(tmp_path):
    random.seed(7)
    lines = [b"x" * random.randint(0, 90) + str(n).encode() for n in range(300)]
    path = tmp_path / "file"
    path.write_bytes(b"\n".join(lines))
    shards = list(plan_shards([(str(path), path.stat().st_size)], "conversation_lines", shard_bytes=500))
    assert len(shards) > 20
    found = [line for shard in shards for source in shard for block in read_blocks(source, 64) for line in block.lines]
    assert found == lines


def test_a_digest_covers_exactly_the_lines_of_its_range(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\nthree\n")
    first, second = Source(str(path), 0, 6), Source(str(path), 6, 14)
    before = [shard_digest([first]), shard_digest([second])]
    # 'two' starts in the first range and ends in the second.
    path.write_bytes(b"one\ntwX\nthree\n")
    after = [shard_digest([first]), shard_digest([second])]
    assert before[0] != after[0]
    assert before[1] == after[1]
    other = tmp_path / "renamed"
    other.write_bytes(path.read_bytes())
    assert shard_digest([Source(str(other))]) == shard_digest([Source(str(path))])
    assert len(after[0]) == 32


def test_a_file_that_cannot_be_read_has_another_digest_than_once_it_can(tmp_path):
    absent = Source(str(tmp_path / "file"))
    before = shard_digest([absent])
    (tmp_path / "file").write_bytes(b"")
    assert shard_digest([absent]) != before


def test_a_file_whose_name_is_no_text_is_named_by_its_uri(tmp_path):
    (tmp_path / os.fsdecode(b"\xff.jsonl")).write_bytes(b"one\n")
    ((uri, size),) = expand_sources([str(tmp_path)])
    assert (uri, size) == (tmp_path.as_uri() + "/%FF.jsonl", 4)
    assert [block.lines for block in read_blocks(Source(uri))] == [[b"one"]]
