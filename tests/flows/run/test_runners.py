"""The same pipeline on other runners."""

import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations, write_turns

from memlake.flows.ingest import ingest
from memlake.flows.run.prism import prism_location
from memlake.flows.run.settings import IngestSettings


@pytest.mark.prism
def test_prism_lands_the_same_rows_as_fnapi_and_leaves_no_process(tmp_path):
    if prism_location() is None:
        pytest.skip("Prism is not built here: make prism (needs Go)")
    import psutil

    made = [conversation(f"c{n}", 16) for n in range(6)]
    whole = write_conversations(tmp_path / "whole.jsonl", made)
    turns = write_turns(tmp_path / "turns.jsonl", [conversation(f"t{n}", 16) for n in range(4)])
    for runner in ("fnapi", "prism"):
        ingest(IngestSettings(str(tmp_path / runner), "c", (str(whole), str(turns)), runner=runner, shard_bytes=6_000))
    assert digest(tmp_path / "prism") == digest(tmp_path / "fnapi")
    assert_sound(tmp_path / "prism")
    assert [child.name() for child in psutil.Process().children(recursive=True) if "prism" in child.name()] == []
