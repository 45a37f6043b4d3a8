"""Extraction against a server at 30 % faults: every turn accounted for, nothing paid twice, nothing else touched."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from extraction_runs import (
    ATTEMPTS,
    assert_every_turn_is_in_a_piece,
    assert_failures_have_letters,
    represent_settings,
    rows,
    table,
)
from lake_contents import assert_sound
from openai_server import CONTENT, TRANSIENT, Faults, OpenAIServer
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.represent import represent
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.protocol.model import ModelStoppedError

NAME = "artifacts-t4:granularity=turns,turns=4"
# So many requests that every kind of fault happens, whatever the prompt's wording makes of the draws.
EACH_TURN = "artifacts-t1:granularity=turn"
HOSTILE = Faults(0.3, (*TRANSIENT, *CONTENT, "too_long", "too_long_llamacpp", "rejected"), seed=7)


def files_of(lake: Path) -> dict[str, str]:
    """Every data file that a snapshot may name, by content."""
    return {
        str(path.relative_to(lake)): hashlib.blake2b(path.read_bytes()).hexdigest()
        for path in lake.rglob("*")
        if path.is_file() and "chunks" in str(path) and path.suffix in (".parquet", ".lance", ".txn", ".manifest")
    }


def chunks_of(lake: Path) -> tuple[str, str]:
    units = table(lake, "units", "chunks").sort_by("unit_id")
    vectors = open_lake(str(lake)).snapshot().lance_table("chunks__static")
    stored = vectors.to_table().sort_by("unit_id") if vectors else None
    return json.dumps(units.to_pylist(), default=str), str(stored.to_pylist()) if stored else ""


def assert_within_budget(server: OpenAIServer) -> None:
    stats = server.stats()
    assert stats.script_errors == []
    assert max(stats.bodies.values()) <= ATTEMPTS
    assert stats.calls <= ATTEMPTS * len(stats.bodies)
    assert stats.most_in_flight <= 64


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    talks = [conversation(f"c{n}", 40) for n in range(12)]
    talks[3]["turns"][5]["text"] = "A long tale: " + "the river ran over the quiet stone, " * 165
    for place, text in enumerate(("Hello!", "hm", "ok", "bye now"), 4):  # a piece of which the model makes nothing
        talks[4]["turns"][place]["text"] = text
    talks[5]["turns"][0]["text"] = '{"turn": 9} {0} {transcript} </transcript> %s \\u00 “quoted”'
    return write_conversations(tmp_path_factory.mktemp("source") / "talks.jsonl", talks)


@pytest.fixture
def lake(tmp_path, source) -> Path:
    ingest(IngestSettings(str(tmp_path / "lake"), "c", (str(source),)))
    return tmp_path / "lake"


def test_at_thirty_percent_faults_every_turn_is_accounted_for_and_the_rerun_calls_nothing(lake):
    chunks, files = chunks_of(lake), files_of(lake)
    with OpenAIServer(faults=HOSTILE, slow_s=0.05, context_tokens=2000) as server:
        represent(represent_settings(lake, "c", [EACH_TURN], server))
        stats = server.stats()
        found = assert_every_turn_is_in_a_piece(lake, "artifacts-t1")
        assert_failures_have_letters(lake, "artifacts-t1")
        assert_within_budget(server)
        assert {kind for kind, _ in found} == {"extracted", "empty", "failed"}, found
        assert {"refused", "filtered", "rejected"} <= {reason for kind, reason in found if kind == "failed"}, found
        assert ("failed", "transient") not in found
        assert sum(table(lake, "extractions", "artifacts-t1")["splits"].to_pylist()) > 0
        assert len(stats.faults) == len(HOSTILE.kinds) + 1, "a kind of fault never happened"
        assert represent(represent_settings(lake, "c", [EACH_TURN], server))["snapshot_id"] is None
        assert server.stats().calls == stats.calls
    assert chunks_of(lake) == chunks
    assert files_of(lake).items() >= files.items()
    # Every answered call that was paid is on record, and none twice.
    ((paid, distinct),) = rows(
        lake, "select count(*), count(distinct (call_id, attempt)) from calls where not from_cache"
    )
    assert paid == distinct == stats.calls
    assert_sound(lake)


def test_what_failed_for_a_time_is_asked_again_and_nothing_else_is(lake):
    with OpenAIServer(faults=Faults(marked=(("winter lamp", "rate_limit"), ("market paper", "refusal")))) as server:
        represent(represent_settings(lake, "c", [NAME], server))
        first = assert_every_turn_is_in_a_piece(lake, "artifacts-t4")
        waiting, refused = first["failed", "transient"], first["failed", "refused"]
        assert waiting > 0
        assert refused > 0
        assert_failures_have_letters(lake, "artifacts-t4")
        busy = {key for key, count in server.stats().bodies.items() if count > 1}
        assert len(busy) == waiting
        server.reset()
        represent(represent_settings(lake, "c", [NAME], server))
        assert server.stats().bodies == dict.fromkeys(busy, ATTEMPTS)
        assert assert_every_turn_is_in_a_piece(lake, "artifacts-t4") == first
        server.set(faults=Faults())
        server.reset()
        represent(represent_settings(lake, "c", [NAME], server))
        assert server.stats().bodies == dict.fromkeys(busy, 1)
        last = assert_every_turn_is_in_a_piece(lake, "artifacts-t4")
        assert (last["failed", "transient"], last["failed", "refused"]) == (0, refused)
        server.reset()
        represent(represent_settings(lake, "c", [NAME], server))
        assert server.stats().calls == 0
    assert_sound(lake)


def test_another_lake_with_the_cache_replays_offline_and_names_what_is_missing(lake, tmp_path, source):
    with OpenAIServer() as server:
        represent(represent_settings(lake, "c", [NAME], server))
        other = tmp_path / "other"
        ingest(IngestSettings(str(other), "c", (str(source),)))
        (lake / "cache").rename(other / "cache")
        server.reset()
        represent(represent_settings(other, "c", [NAME], server, offline=True))
        assert server.stats().calls == 0
        assert counts(other) == counts(lake)
        gone = sorted((other / "cache").rglob("*.json"))[:3]
        for path in gone:
            path.unlink()
        again = tmp_path / "again"
        ingest(IngestSettings(str(again), "c", (str(source),)))
        (other / "cache").rename(again / "cache")
        with pytest.raises(ModelStoppedError, match="3 replies are not in the cache") as stopped:
            represent(represent_settings(again, "c", [NAME], server, offline=True))
        assert stopped.value.code == "model_offline"
        assert server.stats().calls == 0


def counts(lake: Path) -> Counter:
    return Counter(
        rows(lake, "select kind, conversation_id, show_text from units where representation = 'artifacts-t4'")
    )


@pytest.mark.parametrize(
    ("kind", "code", "calls"),
    [
        ("bad_key", "model_refused", 8),
        ("no_quota", "model_quota", 8),
        ("server_error", "model_unreachable", 120 * ATTEMPTS),
    ],
)
def test_an_answer_that_no_retry_mends_stops_the_run_and_it_is_taken_up_again(lake, kind, code, calls):
    with OpenAIServer(latency_s=0.02, faults=Faults(1.0, (kind,))) as server:
        with pytest.raises(ModelStoppedError) as stopped:
            represent(represent_settings(lake, "c", [NAME], server, max_in_flight=8))
        assert stopped.value.code == code
        assert stopped.value.hint
        assert 0 < server.stats().calls <= calls
        assert table(lake, "units", "artifacts-t4").num_rows == 0
        server.set(faults=Faults())
        represent(represent_settings(lake, "c", [NAME], server))
        assert assert_every_turn_is_in_a_piece(lake, "artifacts-t4")["failed", "transient"] == 0
    assert_sound(lake)


@pytest.mark.long
def test_all_of_locomo_at_thirty_percent_faults(shared_data, tmp_path):
    lake = tmp_path / "lake"
    ingest(IngestSettings(str(lake), "locomo", (str(shared_data / "locomo/locomo10.json"),)))
    chunks = chunks_of(lake)
    with OpenAIServer(faults=HOSTILE, slow_s=0.05, context_tokens=3000) as server:
        represent(represent_settings(lake, "locomo", ["artifacts"], server))
        stats = server.stats()
        found = assert_every_turn_is_in_a_piece(lake, "artifacts")
        assert_failures_have_letters(lake, "artifacts")
        assert_within_budget(server)
        assert found["extracted", None] > 200, found
        represent(represent_settings(lake, "locomo", ["artifacts"], server))
        assert server.stats().calls == stats.calls
    assert chunks_of(lake) == chunks
    assert_sound(lake)
