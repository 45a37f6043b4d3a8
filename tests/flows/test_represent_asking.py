"""`memlake represent` with a model: priced before, stopped at the limit, taken up again, never mixed with other settings."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import extraction_runs
import pytest
from lake_contents import assert_sound, digest
from openai_server import Faults, OpenAIServer
from sample_chats import conversation, write_conversations

from memlake.flows.cli.printing.remedies import remedy
from memlake.flows.embed import embed
from memlake.flows.ingest import ingest
from memlake.flows.represent import price_represent, represent
from memlake.flows.run.settings import EmbedSettings, IngestSettings, StudySettings
from memlake.flows.study import price_study
from memlake.transforms.base.errors import EmbedderMismatchError, NotFoundError, TooManyDeadLettersError, UsageError
from memlake.transforms.evaluate.search import SearchSettings, search
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.protocol.model import ModelStoppedError


def represent_settings(*where, **more):
    return extraction_runs.represent_settings(*where, **{"model": "gpt-4o-mini", **more})


NAME = "artifacts-t4:granularity=turns,turns=4"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    talks = [conversation(f"c{n}", 24) for n in range(5)]
    return write_conversations(tmp_path_factory.mktemp("source") / "talks.jsonl", talks)


@pytest.fixture
def lake(tmp_path, source) -> Path:
    ingest(IngestSettings(str(tmp_path / "lake"), "c", (str(source),)))
    return tmp_path / "lake"


def staged(lake: Path) -> list[str]:
    return sorted(path.name for path in (lake / "staged").iterdir() if path.is_file() and path.suffix == ".json")


def test_the_price_counts_the_very_calls_that_follow_and_then_none(lake):
    with OpenAIServer() as server:
        settings = represent_settings(lake, "c", [NAME, "turns"], server)
        (before,) = price_represent(settings)["representations"]
        assert server.stats().calls == 0
        made = represent(settings)
        (after,) = price_represent(settings)["representations"]
    assert before["calls"] == made["models"]["calls"] > 0
    assert (before["conversations"], before["cached"]) == (5, 0)
    assert 0 < before["price_low"] < before["price_high"]
    assert before["tokens_out_low"] < before["tokens_out_high"]
    assert before["tokeniser"]
    assert (after["calls"], after["conversations"], after["price_high"]) == (0, 0, 0.0)


def test_a_price_is_unknown_for_a_model_without_one_and_refused_for_what_asks_none(lake):
    with OpenAIServer() as server:
        (unknown,) = price_represent(represent_settings(lake, "c", [NAME], server, model="my-own"))["representations"]
        assert (unknown["price_low"], unknown["unpriced"]) == (None, ["my-own"])
        with pytest.raises(UsageError, match="none asks a model"):
            price_represent(represent_settings(lake, "c", ["turns"], server))


def test_a_study_s_plan_names_what_is_lacking_and_prices_what_asks_a_model(lake, tmp_path):
    cells = "".join(
        f'[[cells]]\nname = "{name}"\nrepresentations = ["{name}"]\nplan = "hybrid"\n'
        for name in ("chunks", "turns", "artifacts", "their-notes")
    )
    talk = conversation("q", 6) | {"questions": [{"question_id": "a", "text": "who?", "answer": "Ana", "evidence": []}]}
    ingest(IngestSettings(str(lake), "c", (str(write_conversations(tmp_path / "asked.jsonl", [talk])),)))
    study = tmp_path / "study.toml"
    head = 'name = "s"\ncorpus = "c"\nembedder = "openai:text-embedding-3-small"\n[cutoffs]\nk = [3]\n'
    study.write_text(head + cells)
    with OpenAIServer() as server:
        models = represent_settings(lake, "c", [NAME], server).models
        made = price_study(StudySettings(str(lake), str(study), models=models))
        assert server.stats().calls == 0
    states = {row["representation"]: row["state"] for row in made["representations"]}
    assert states == {
        "chunks": "to be embedded",
        "turns": "to be made",
        "artifacts": "to be made",
        "their-notes": "comes with its source",
    }
    (artifacts,) = [row for row in made["representations"] if "calls" in row]
    command = shlex.split(artifacts["next"])
    assert command[command.index("--model") + 1] == models.model
    assert command[command.index("--base-url") + 1] == models.base_url
    assert command[-2:] == ["--lake", str(lake)]
    assert artifacts["conversations"] == 6  # `memlake represent` makes it of the whole corpus
    assert made["embedding"]["texts"] > made["questions"] == 1
    assert made["embedding"]["calls"] == 1  # they all go in one request
    assert made["calls"] == artifacts["calls"] + made["embedding"]["calls"]
    assert made["price_high"] == pytest.approx(artifacts["price_high"] + made["embedding"]["price_high"])
    json.dumps(made)


def test_the_cost_limit_is_never_passed_and_the_next_runs_pay_the_rest(lake, tmp_path, source):
    clean = tmp_path / "clean"
    with OpenAIServer() as server:
        ingest(IngestSettings(str(clean), "c", (str(source),)))
        whole = represent(represent_settings(clean, "c", [NAME], server))["models"]
    with OpenAIServer() as server:
        limit = whole["price_usd"] / 2
        with pytest.raises(ModelStoppedError) as stopped:
            represent(represent_settings(lake, "c", [NAME], server, max_cost=limit))
        assert stopped.value.code == "model_cost"
        first = server.stats().calls
        assert 0 < first < whole["calls"]
        with connect(open_lake(str(lake))) as connection:
            (spent,) = connection.execute("select sum(price_usd) from calls").fetchone()
            assert connection.execute("select count(*) from extractions").fetchone() == (0,)
        assert 0 < spent <= limit
        assert staged(lake) == []
        made = represent(represent_settings(lake, "c", [NAME], server))
        assert (made["models"]["calls"], made["models"]["cached"]) == (whole["calls"] - first, first)
        assert server.stats().calls == whole["calls"]
    assert_sound(lake)
    assert digest(lake)["units"] == digest(clean)["units"]


def test_offline_publishes_nothing_that_lacks_a_reply_and_leaves_nothing_behind(lake):
    with OpenAIServer() as server:
        with pytest.raises(ModelStoppedError) as missing:
            represent(represent_settings(lake, "c", [NAME], server, offline=True))
        assert missing.value.code == "model_offline"
        assert "conversation 'c0', turns 0-3" in missing.value.message
        assert "30 replies" in missing.value.message
        assert staged(lake) == []
        represent(represent_settings(lake, "c", [NAME], server))
        calls = server.stats().calls
        # What is shown and indexed is no part of what was asked.
        again = represent(
            represent_settings(
                lake, "c", ["artifacts-q:granularity=turns,turns=4,show=quote,key=content_quote"], server, offline=True
            )
        )
        assert server.stats().calls == calls
    assert (again["models"]["calls"], again["models"]["cached"]) == (0, calls)
    assert_sound(lake)


def test_only_what_changed_in_a_conversation_is_asked_again(lake, tmp_path):
    with OpenAIServer() as server:
        represent(represent_settings(lake, "c", [NAME], server))
        before = server.stats().calls
        talk = conversation("c0", 24)
        talk["turns"] += [
            {**talk["turns"][-1], "turn_id": f"new{n}", "text": f"The new tram {n} is blue."} for n in "ab"
        ]
        grown = write_conversations(tmp_path / "grown.jsonl", [talk])
        told = ingest(IngestSettings(str(lake), "c", (str(grown),)))
        assert told["stale"] == ["units:artifacts-t4"]
        made = represent(represent_settings(lake, "c", [NAME], server))
        assert made["skipped"] == 4
        assert server.stats().calls == before + 1  # the two new turns are one piece
    assert_sound(lake)


def test_another_model_needs_another_name_and_the_hint_tells_how_to_go_on(lake):
    with OpenAIServer() as server:
        represent(represent_settings(lake, "c", [NAME], server))
        with pytest.raises(UsageError) as refused:
            represent(represent_settings(lake, "c", [NAME], server, model="gpt-4o"))
        assert "model='gpt-4o-mini' stored, 'gpt-4o' asked for" in refused.value.message
        assert "--model gpt-4o-mini goes on with the stored one" in refused.value.hint
        represent(represent_settings(lake, "c", ["artifacts-4o:granularity=turns,turns=4"], server, model="gpt-4o"))
    with connect(open_lake(str(lake))) as connection:
        found = connection.execute("select representation, count(*) from units group by all order by 1").fetchall()
    assert [name for name, _ in found] == ["artifacts-4o", "artifacts-t4", "chunks"]


@pytest.mark.long
def test_two_worker_processes_keep_one_limit_and_make_what_one_makes(tmp_path, source):
    lakes = [tmp_path / "one", tmp_path / "two"]
    for lake in lakes:
        for name in ("a", "b"):
            talks = [conversation(f"{name}{n}", 24) for n in range(3)]
            file = write_conversations(tmp_path / f"{name}.jsonl", talks)
            ingest(IngestSettings(str(lake), "c", (str(file),)))
    with OpenAIServer(latency_s=0.05) as server:
        represent(represent_settings(lakes[0], "c", [NAME], server, workers=1, max_in_flight=3))
        once = server.stats()
    with OpenAIServer(latency_s=0.05) as server:
        represent(represent_settings(lakes[1], "c", [NAME], server, workers=2, max_in_flight=3))
        twice = server.stats()
    assert once.most_in_flight == twice.most_in_flight == 3
    assert once.calls == twice.calls == 36
    assert digest(lakes[0])["units"] == digest(lakes[1])["units"]


def test_a_hint_goes_on_with_what_is_stored_however_its_provider_is_called(lake):
    odd = 'my "box" it\'s $HOME'
    with OpenAIServer() as server:
        run = represent_settings(lake, "c", [NAME], server)
        represent(replace(run, models=replace(run.models, provider=odd)))
        with pytest.raises(UsageError) as refused:
            represent(run)
    assert shlex.split(refused.value.hint.partition(" goes on")[0]) == ["--provider", odd]


def test_commands_that_name_an_embedder_name_it_as_it_is_asked_for(lake):
    with OpenAIServer() as server:
        run = represent_settings(lake, "c", [], server, embedder="openai:lab/an odd 'one'")
        models = replace(run.models, provider="a/b")
        wish = SearchSettings(str(lake), "who?", "c", embedder=run.embedder, models=models)
        with pytest.raises(NotFoundError) as never:
            search(wish)
        assert run.embedder in shlex.split(never.value.hint)
        embed(EmbedSettings(str(lake), "c", embedder=run.embedder, models=models))
        (table,) = [name for name in open_lake(str(lake)).latest().lance_tables() if "openai" in name]
        assert run.embedder in shlex.split(remedy(f"vectors:{table}", among=(), corpus="c", lake=str(lake)))
        with pytest.raises(EmbedderMismatchError) as other:
            search(replace(wish, models=run.models))
        assert run.embedder in shlex.split(other.value.hint)


def test_the_password_in_a_server_s_address_is_not_kept_in_the_lake(lake):
    with OpenAIServer() as server:
        run = represent_settings(lake, "c", [NAME], server)
        secret = server.url.replace("http://", "http://ana:hidden-word@")
        made = represent(replace(run, models=replace(run.models, base_url=secret)))
    assert made["models"]["calls"] > 0
    with connect(open_lake(str(lake))) as connection:
        texts = [text for (text,) in connection.execute("select settings from runs").fetchall()]
    assert any(server.url in text for text in texts)
    assert not any("hidden-word" in text for text in texts)


def test_more_failed_pieces_than_allowed_end_the_run_with_what_it_did(lake):
    refused = Faults(1.0, ("refusal",), seed=1)
    with OpenAIServer(faults=refused) as server:
        with pytest.raises(
            TooManyDeadLettersError, match="30 of 30 pieces died, --allow-dead-records allows 1"
        ) as told:
            represent(represent_settings(lake, "c", [NAME], server, allow_dead_records=0.01))
        assert told.value.document["snapshot_id"] is not None
        assert told.value.document["pieces"] == {"asked": 30, "failed": 30, "turns_failed": 120}
        again = represent(represent_settings(lake, "c", [NAME], server, allow_dead_records=0.01))
        assert (again["snapshot_id"], again["dead_letters"]) == (None, {})
    assert_sound(lake)
