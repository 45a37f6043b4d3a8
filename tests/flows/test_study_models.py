"""A study whose readers and judges are models: every question is accounted for, nothing is paid twice, all of it replays."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from extraction_runs import represent_settings
from openai_server import CONTENT, TRANSIENT, Faults, OpenAIServer
from sample_chats import write_conversations

from memlake.flows.cli.main import run
from memlake.flows.ingest import ingest
from memlake.flows.represent import represent
from memlake.flows.run.settings import IngestSettings, RepresentSettings, StudySettings
from memlake.flows.study import price_study, run_study
from memlake.transforms.base.errors import TooManyDeadLettersError
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.llm.protocol.model import ModelStoppedError

SCRIPT = "openai_readers:says"
TABLES = ("cells", "retrievals", "contexts", "answers", "judgements", "scores", "losses", "statistics")
STUDY = """
name = "asked"
corpus = "c"
[cutoffs]
tokens = [60, 400]
[answers]
tokens = [60]
[headline]
metric = "judge_accuracy"
cutoff_kind = "tokens"
cutoff = 60
judge = "strict"
[readers.answer]
kind = "model"
[judges.strict]
kind = "strict"
[judges.match]
kind = "match"
[[cells]]
name = "chunks"
representations = ["chunks"]
plan = "lexical"
reader = "answer"
[[cells]]
name = "turns"
representations = ["turns"]
plan = "lexical"
reader = "answer"
[[cells]]
name = "nothing"
representations = ["turns"]
plan = "nothing"
reader = "answer"
[[comparisons]]
name = "chunks against turns"
a = "chunks"
b = "turns"
[[comparisons]]
name = "turns against nothing"
a = "turns"
b = "nothing"
"""
THINGS = ("boat", "kite", "lamp", "drum", "sofa", "tent", "vase", "desk")


def talk(number: int) -> dict[str, object]:
    """Eight turns, each with a thing and its price, and a question on each; the last cannot be answered."""
    name = f"c{number}"
    prices = [100 * number + place + 11 for place in range(len(THINGS))]
    turns = [
        {"turn_id": f"t{place}", "text": f"The {thing} costs {price} crowns.", "speaker": "Ana"}
        for place, (thing, price) in enumerate(zip(THINGS, prices, strict=True))
    ]
    questions = [
        {
            "question_id": f"q{place}",
            "text": f"How many crowns for the {thing}?",
            "answer": f"{price} crowns",
            "category": "price",
            "evidence": [f"t{place}"],
        }
        for place, (thing, price) in enumerate(zip(THINGS, prices, strict=True))
    ]
    trap = {"question_id": "q9", "text": "Who owns the zeppelin?", "category": "trap", "answerable": False}
    return {"conversation_id": name, "turns": turns, "questions": [*questions, trap]}


@pytest.fixture(scope="module")
def ingested(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    source = write_conversations(folder / "talks.jsonl", [talk(number) for number in range(6)])
    ingest(
        IngestSettings(str(folder / "lake"), "c", (str(source),), representations=("chunks", "turns"), embedder="none")
    )
    (folder / "study.toml").write_text(STUDY)
    return folder


@pytest.fixture
def place(ingested: Path, tmp_path: Path) -> Path:
    """A copy of the lake of its own, with the study beside it."""
    shutil.copytree(ingested, tmp_path / "here")
    return tmp_path / "here"


def study_settings(place: Path, server: OpenAIServer, study: str = "study.toml", **more: object) -> StudySettings:
    models = replace(represent_settings(place / "lake", "c", ["turns"], server, model="gpt-4o-mini").models, **more)
    return StudySettings(str(place / "lake"), str(place / study), models=models, allow_dead_records=1.0)


def rows_of(lake: str, run_id: str) -> dict[str, list[dict[str, object]]]:
    """What a run wrote, in the order of keys, without its own id and the seconds that it took."""
    found = {}
    with connect(open_lake(lake)) as connection:
        for name in TABLES:
            rows = connection.execute(f"select * exclude (run_id) from {name} where run_id = $1", [run_id])
            names = [column[0] for column in rows.description]
            held = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
            found[name] = sorted(
                (row for row in held if not str(row.get("statistic", "")).startswith("seconds")),
                key=lambda row: json.dumps(row, default=str),
            )
    for row in found["cells"]:
        row.pop("read_snapshot_id")
    return found


def test_the_plan_counts_the_very_calls_that_follow_and_a_second_run_asks_nothing(place):
    with OpenAIServer(script=SCRIPT) as server:
        settings = study_settings(place, server)
        before = price_study(settings)
        assert server.stats().calls == 0
        first = run_study(settings)
        calls = server.stats().calls
        after = price_study(settings)
        second = run_study(settings)
        assert server.stats().calls == calls
    answers, verdicts = before["answering"]
    assert (answers["what"], verdicts["what"]) == ("answers", "verdicts")
    assert answers["calls"] == 3 * 6 * 9
    # Equal answers to a question are one verdict, so there are fewer of these than planned.
    assert calls <= before["calls"]
    assert first["models"]["calls"] == calls
    assert (after["calls"], after["price_high"]) == (0, 0.0)
    assert second["models"]["calls"] == 0
    assert rows_of(settings.lake, first["run_id"]) == rows_of(settings.lake, second["run_id"])


def test_every_question_is_answered_and_judged_once_in_every_cell_and_right_answers_are_right(place):
    with OpenAIServer(script=SCRIPT) as server:
        made = run_study(study_settings(place, server))
    assert (made["answers"], made["judgements"]) == (3 * 6 * 9, 2 * 3 * 6 * 9)
    found = rows_of(str(place / "lake"), str(made["run_id"]))
    keys = {(row["cell"], row["question_id"]) for row in found["answers"]}
    assert len(keys) == made["answers"]
    means = {
        (row["cell_a"], row["judge"]): row["value"]
        for row in found["statistics"]
        if (row["statistic"], row["metric"], row["slice"]) == ("mean", "judge_accuracy", "category=price")
    }
    assert means["turns", "strict"] == means["turns", "match"] == 1.0
    assert means["nothing", "strict"] == means["nothing", "match"] == 0.0
    wrong = [row for row in found["judgements"] if row["correct"] is False]
    assert {(row["cell"], row["question_id"], row["judge"]) for row in wrong} == {
        (row["cell"], row["question_id"], row["judge"]) for row in found["losses"]
    }
    assert {row["loss"] for row in found["losses"] if row["cell"] == "nothing"} <= {"not_retrieved", "packed_out"}


def test_at_thirty_per_cent_of_faults_every_question_has_an_answer_or_a_reason_and_the_rest_is_untouched(place):
    kinds = (*TRANSIENT, *CONTENT, "rejected")
    with OpenAIServer(script=SCRIPT, faults=Faults(0.3, kinds, seed=5)) as server:
        settings = study_settings(place, server)
        first = run_study(settings)
        again = run_study(settings)
        stats = server.stats()
    assert stats.script_errors == []
    found = rows_of(settings.lake, str(first["run_id"]))
    for name, value in (("answers", "text"), ("judgements", "correct")):
        assert len(found[name]) == first[name]
        assert all((row[value] is None) == (row["reason"] is not None) for row in found[name])
    failed = [row for row in found["answers"] if row["text"] is None]
    assert failed
    # An answer that failed is neither wrong nor right: no verdict, no loss, a score without a value.
    lost = {(row["cell"], row["question_id"]) for row in failed}
    verdicts = [row for row in found["judgements"] if (row["cell"], row["question_id"]) in lost]
    assert {row["correct"] for row in verdicts} == {None}
    assert not any((row["cell"], row["question_id"]) in lost for row in found["losses"])
    scored = [row for row in found["scores"] if row["metric"] in ("judge_accuracy", "token_f1", "abstained")]
    assert {row["value"] for row in scored if (row["cell"], row["question_id"]) in lost} == {None}
    # What failed for good is not asked again.
    assert again["models"]["calls"] <= first["models"]["outcomes"].get("transient", 0)


def test_offline_replays_the_run_without_a_server_and_names_what_is_missing_otherwise(place):
    with OpenAIServer(script=SCRIPT) as server:
        settings = study_settings(place, server)
        first = run_study(settings)
        url = server.url
    offline = study_settings(place, server, offline=True, base_url=url)
    second = run_study(offline)
    assert rows_of(settings.lake, str(first["run_id"])) == rows_of(settings.lake, str(second["run_id"]))
    other = STUDY.replace('kind = "model"', 'kind = "model"\nmax_tokens = 50')
    (place / "other.toml").write_text(other)
    before = open_lake(settings.lake).snapshot().snapshot_id
    with pytest.raises(ModelStoppedError, match="replies are not in the cache") as caught:
        run_study(study_settings(place, server, "other.toml", offline=True, base_url=url))
    assert caught.value.code == "model_offline"
    assert open_lake(settings.lake).snapshot().snapshot_id == before


def test_a_reader_of_which_too_much_fails_ends_with_exit_code_3_and_its_rows_are_there(place):
    with OpenAIServer(script=SCRIPT, faults=Faults(1.0, ("refusal",), seed=1)) as server:
        settings = study_settings(place, server)
        with pytest.raises(TooManyDeadLettersError, match="162 of 162 answers failed"):
            run_study(StudySettings(settings.lake, settings.study, models=settings.models))
    assert open_lake(settings.lake).snapshot().operation == "study"


def test_the_cost_limit_stops_the_run_publishes_nothing_and_the_next_one_pays_the_rest_alone(place):
    with OpenAIServer(script=SCRIPT) as server:
        before = open_lake(str(place / "lake")).snapshot().snapshot_id
        with pytest.raises(ModelStoppedError) as caught:
            run_study(study_settings(place, server, max_cost=0.004))
        assert caught.value.code == "model_cost"
        assert open_lake(str(place / "lake")).snapshot().snapshot_id == before
        paid = server.stats().calls
        run_study(study_settings(place, server))
        stats = server.stats()
    assert 0 < paid < stats.calls
    assert max(stats.bodies.values()) == 1


def test_the_gate_passes_on_the_numbers_that_hold_and_ends_with_4_on_one_that_left(place, capfd):
    with OpenAIServer(script=SCRIPT) as server:
        made = run_study(study_settings(place, server))
    gate = (
        '\n[[gates]]\ncell = "turns"\nmetric = "judge_accuracy"\ncutoff_kind = "tokens"\ncutoff = 60\njudge = "match"\n'
    )
    kept = gate + 'category = "price"\nvalue = 0.98\ntolerance = 0.05\n'
    (place / "kept.toml").write_text(STUDY + kept)
    (place / "left.toml").write_text(STUDY + kept + gate + "value = 0.5\ntolerance = 0.05\n")
    lake = ["--lake", str(place / "lake"), "--json"]
    assert run(["study", "gate", str(place / "kept.toml"), *lake]) == 0
    passed = json.loads(capfd.readouterr().out)
    assert (passed["passed"], passed["run_id"], passed["gates"][0]["measured"]) == (True, made["run_id"], 1.0)
    assert run(["study", "gate", str(place / "left.toml"), *lake]) == 4
    failed = json.loads(capfd.readouterr().out)
    assert failed["error"]["code"] == "gate_failed"
    assert [gate["passed"] for gate in failed["gates"]] == [True, False]
    assert "is not within 0.05 of 0.5" in failed["gates"][1]["why"]
    (place / "other.toml").write_text(STUDY.replace('plan = "lexical"', 'plan = "random"') + kept)
    assert run(["study", "gate", str(place / "other.toml"), *lake]) == 4
    assert "other settings" in json.loads(capfd.readouterr().out)["gates"][0]["why"]
    for old, new, why in (
        ('[judges.match]\nkind = "match"', '[judges.match]\nkind = "exact"', "judge 'match' is another"),
        ('corpus = "c"', 'corpus = "c"\ncategories = ["price"]', "asked other questions"),
    ):
        (place / "other.toml").write_text(STUDY.replace(old, new) + kept)
        assert run(["study", "gate", str(place / "other.toml"), *lake]) == 4
        assert why in json.loads(capfd.readouterr().out)["gates"][0]["why"]


def test_two_runs_are_compared_question_by_question(place, capfd):
    with OpenAIServer(script=SCRIPT) as server:
        first = run_study(study_settings(place, server))
        (place / "dense.toml").write_text(STUDY.replace('plan = "lexical"', 'plan = "random"'))
        second = run_study(study_settings(place, server, "dense.toml"))
    lake = ["--lake", str(place / "lake"), "--json"]
    pair = [f"{first['run_id']}/turns", f"{second['run_id']}/turns"]
    assert run(["study", "compare", *pair, "--metric", "judge_accuracy", *lake]) == 0
    made = json.loads(capfd.readouterr().out)
    rows = {(row["judge"], row["statistic"]): row for row in made["differences"]}
    assert set(rows) == {(j, s) for j in ("match", "strict") for s in ("difference", "mcnemar")}
    difference, test = rows["match", "difference"], rows["match", "mcnemar"]
    assert (difference["n"], difference["clusters"]) == (54, 6)
    assert difference["value"] == pytest.approx((test["only_a"] - test["only_b"]) / 54)
    assert difference["value"] > 0
    assert difference["low"] <= difference["value"] <= difference["high"]
    assert run(["study", "compare", first["run_id"], second["run_id"], *lake]) == 0
    whole = json.loads(capfd.readouterr().out)
    assert {pair["cell_a"]: list(pair["differ"]) for pair in whole["settings"]} == {
        "chunks": ["plan"], "turns": ["plan"], "nothing": [],
    }  # fmt: skip
    both = whole["differences"]
    assert {(row["cell_a"], row["cell_b"]) for row in both} == {(name, name) for name in ("chunks", "turns", "nothing")}
    assert run(["study", "compare", first["run_id"], "nobody", *lake]) == 2


def test_a_question_that_reads_otherwise_in_the_other_snapshot_is_not_compared(place, capfd):
    plain = STUDY.replace('kind = "model"', 'kind = "extractive"').replace('[judges.strict]\nkind = "strict"\n', "")
    (place / "plain.toml").write_text(plain.replace('judge = "strict"', 'judge = "match"'))
    wish = StudySettings(str(place / "lake"), str(place / "plain.toml"))
    first = run_study(wish)
    changed = [talk(number) for number in range(6)]
    changed[0]["questions"][0] |= {"text": "What does the boat cost?"}
    changed[1]["questions"][1] |= {"answer": "9 crowns"}
    source = write_conversations(place / "again.jsonl", changed)
    ingest(
        IngestSettings(str(place / "lake"), "c", (str(source),), representations=("chunks", "turns"), embedder="none")
    )
    second = run_study(wish)
    assert run(["study", "compare", first["run_id"], second["run_id"], "--lake", wish.lake, "--json"]) == 0
    made = json.loads(capfd.readouterr().out)
    assert made["changed_questions"] == 2
    judged = [
        row for row in made["differences"] if (row["metric"], row["statistic"]) == ("judge_accuracy", "difference")
    ]
    assert {(row["n"], row["value"]) for row in judged} == {(52, 0.0)}


LOCOMO = Path(os.environ.get("MEMLAKE_SHARED_DATA", "../shared/data")) / "locomo" / "locomo10.json"


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not LOCOMO.exists(), reason="the shared LoCoMo file is not here")
def test_all_of_locomo_is_answered_and_judged_in_every_cell_with_faults_and_replays_from_the_cache(tmp_path):
    lake = str(tmp_path / "lake")
    ingest(IngestSettings(lake, "c", (str(LOCOMO),), embedder="none"))
    represent(RepresentSettings(lake, "c", ("turns", "artifacts_rules"), embedder="none"))
    study = STUDY.replace("[60, 400]", "[1000]").replace("[60]", "[1000]").replace("cutoff = 60", "cutoff = 1000")
    (tmp_path / "study.toml").write_text(study)
    faults = Faults(0.3, (*TRANSIENT, *CONTENT, "rejected"), seed=3)
    with OpenAIServer(script=SCRIPT, faults=faults) as server:
        settings = study_settings(tmp_path, server, max_in_flight=64)
        first = run_study(settings)
        calls = server.stats().calls
        second = run_study(settings)
        stats = server.stats()
    assert (first["questions"], first["answers"], first["judgements"]) == (1986, 3 * 1986, 6 * 1986)
    assert stats.calls - calls <= first["models"]["outcomes"].get("transient", 0)
    found = rows_of(lake, str(second["run_id"]))
    offline = run_study(study_settings(tmp_path, server, offline=True, base_url=server.url))
    assert rows_of(lake, str(offline["run_id"])) == found
