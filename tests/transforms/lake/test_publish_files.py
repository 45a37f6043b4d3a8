"""What a study publishes: files of conversations that nobody has forgotten meanwhile."""

import pyarrow as pa
import pytest
from small_tables import rows_of

from memlake.schemas import SCORES
from memlake.transforms.base.errors import LakeConflictError
from memlake.transforms.lake.commit.publish import forget, forgotten_of, publish_files
from memlake.transforms.lake.storage.files import Stager


def publish(lake, *conversations):
    stager = Stager(lake.root)
    stager.write(SCORES, rows_of(SCORES, [{"conversation_id": name, "metric": "m"} for name in conversations]))
    names = pa.array(conversations, pa.string())
    return publish_files(lake, stager.close()[0], conversations={"c": names}, run_id="s", operation="study")


def test_files_of_a_forgotten_conversation_are_refused_and_of_others_land(shards):
    shards.publish(shards.stage("one", {"a": ["x"], "b": ["y"]}))
    forget(shards.lake, "c", "a", run_id="f", audit=lambda *_: {})
    before = shards.lake.snapshots().num_rows
    with pytest.raises(LakeConflictError, match="conversation='a' of corpus='c' was forgotten"):
        publish(shards.lake, "b", "a")
    assert shards.lake.snapshots().num_rows == before
    assert publish(shards.lake, "b").snapshot_id is not None
    assert shards.lake.latest().read("scores")["conversation_id"].to_pylist() == ["b"]


def test_forgotten_conversations_are_those_of_the_corpus(shards):
    shards.publish(shards.stage("one", {"a": ["x"], "b": ["y"]}))
    assert forgotten_of(shards.lake.latest(), "c").to_pylist() == []
    forget(shards.lake, "c", "a", run_id="f", audit=lambda *_: {})
    assert forgotten_of(shards.lake.latest(), "c").to_pylist() == ["a"]
    assert forgotten_of(shards.lake.latest(), "other").to_pylist() == []
