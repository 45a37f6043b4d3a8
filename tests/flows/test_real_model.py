"""A real language model behind a real server: small and mostly wrong, but nothing about it was made for these tests."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from extraction_runs import assert_every_turn_is_in_a_piece, rows, table
from lake_contents import assert_sound
from sample_chats import write_conversations
from smollm import smollm_server

from memlake.flows.ingest import ingest
from memlake.flows.represent import represent
from memlake.flows.run.settings import IngestSettings, RepresentSettings
from memlake.schemas.table import settings_json
from memlake.transforms.llm.edge import EdgeSettings, open_edge
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import quota_server
from memlake.transforms.llm.protocol.model import Message, Request
from memlake.transforms.llm.settings import ModelSettings

# Half a minute where the cores are free; the model writes ten words a second.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
SCHEMA = settings_json({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})


@pytest.fixture(scope="module")
def served():
    with smollm_server() as server:
        yield server


@pytest.fixture
def edge(served, tmp_path):
    url, _ = served
    with quota_server(Limits(in_flight=2)) as quota:
        edge = open_edge(EdgeSettings(str(tmp_path), "run", url, "transformers", quota.address))
        try:
            yield edge
        finally:
            edge.close()


@pytest.mark.parametrize("schema", ["", SCHEMA])
def test_a_real_model_replies_through_the_edge_and_is_paid_once(served, edge, schema):
    request = Request(
        served[1],
        (Message("system", "You answer in one word."), Message("user", "What is the capital of France?")),
        max_tokens=24,
        schema=schema,
        schema_name="capital",
        seed=0,
    )
    first = asyncio.run(edge.ask(request, stage="extract", about="a test"))
    again = asyncio.run(edge.ask(request, stage="extract", about="a test"))
    assert (first.outcome, "Paris" in first.text) == ("ok", True), first
    assert first.mode == ("json_schema" if schema else "text")
    assert first.tokens_in > 10
    assert 0 < first.tokens_out <= 24
    assert (again.text, again.from_cache, first.from_cache) == (first.text, True, False)


NAME = "propositions-turn:granularity=turn"
TURNS = [("Ann", "I love tea."), ("Bo", "We decided to paint the kitchen blue."), ("Ann", "Please remember my name.")]


@pytest.mark.long
def test_a_real_model_extracts_through_the_command_and_is_replayed_without_it(served, tmp_path):
    url, model = served
    lake, again = tmp_path / "lake", tmp_path / "again"
    turns = [{"turn_id": f"t{n}", "speaker": speaker, "text": text} for n, (speaker, text) in enumerate(TURNS)]
    source = write_conversations(tmp_path / "talk.jsonl", [{"conversation_id": "c", "turns": turns}])
    for folder in (lake, again):
        ingest(IngestSettings(str(folder), "real", (str(source),), embedder="none"))
    flags = f"represent {NAME} --corpus real --lake {lake} --embedder none --base-url {url} --no-prefect --json --quiet"
    flags += " --allow-dead-records 1"  # it is a very small model
    command = [sys.executable, "-m", "memlake.flows.cli", *flags.split(), "--model", model]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    asked = json.loads(done.stdout)["models"]
    found = assert_every_turn_is_in_a_piece(lake, "propositions-turn")
    assert ("failed", "transient") not in found
    # Whatever it wrote: it is on record, and nothing that it made up counts as said.
    assert asked["calls"] >= len(TURNS)
    assert asked["tokens_in"] > 100 * len(TURNS)
    ((paid, tokens_out),) = rows(lake, "select count(*), sum(tokens_out) from calls where not from_cache")
    assert (paid, tokens_out) == (asked["calls"], asked["tokens_out"])
    texts = [text for _, text in TURNS]
    for unit in table(lake, "units", "propositions-turn").to_pylist():
        said = json.loads(unit["attributes"])
        assert said["grounding"] != "exact" or any(said["quote"] in text for text in texts), unit
        assert said["grounded"] == (said["grounding"] != "none"), unit
    assert_sound(lake)

    shutil.copytree(lake / "cache", again / "cache", dirs_exist_ok=True)
    models = ModelSettings(model=model, base_url=url, offline=True)
    represent(RepresentSettings(str(again), "real", (NAME,), models=models, embedder="none", allow_dead_records=1.0))
    assert units(again) == units(lake)


def units(lake: Path) -> list[dict]:
    return table(lake, "units", "propositions-turn").sort_by("unit_id").to_pylist()
