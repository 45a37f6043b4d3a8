import json

import pytest

from memlake.transforms.base.conversation import ReadOptions, Source
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.read.gather import PARTIAL, bucket_of, gather, gather_shard, partial_rows, read_gathered


def test_no_partial_conversations_are_no_rows_of_the_same_schema():
    rows = partial_rows([])
    assert rows.num_rows == 0
    assert rows.schema.equals(PARTIAL)
    assert bucket_of(rows["conversation_id"], 8).to_pylist() == []
    assert list(gather(rows)) == []


@pytest.mark.parametrize("content", [[], [{"text": "whose?"}, {"conversation_id": "c", "text": None}]])
def test_a_shard_with_nothing_but_dead_letters_is_gathered(write, tmp_path, content):
    staged = tmp_path / "lake" / "staged"
    Progress(staged, "run").open()
    shard = Shard("source", 0, "seed", "memlake-turns", (Source(write(content)),))
    name = gather_shard(shard, lake=str(tmp_path / "lake"), options=ReadOptions(), buckets=4, run_id="run")
    found = read_gathered(staged, name)
    assert found is not None
    assert found.files == {}
    assert found.is_whole(staged)
    dead = found.read_dead(staged).to_pylist()
    assert [row["reason"] for row in dead] == ["malformed_record", "null_text"][: len(content)]
    assert json.loads((staged / f"{name}.gathered.json").read_text())["shard"] == name
