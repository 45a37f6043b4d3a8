"""What version 0.1.0 stored stays good: nothing in it reads otherwise, nothing is made, embedded or asked for again."""

import json
from pathlib import Path

import pytest
import stored_lakes as stored
from deltalake import DeltaTable

import memlake

GOLDEN = stored.golden()
TABLES = [key.partition(" ") for key in GOLDEN["tables"]]
COLUMNS = {name: GOLDEN["tables"][f"{at} {name}"]["columns"] for at, _, name in TABLES if at == GOLDEN["latest"]}


def test_every_snapshot_opens_by_its_id_and_by_its_tag(lake):
    assert memlake.at(lake).snapshot_id == GOLDEN["latest"]
    assert {tag: memlake.at(lake, tag).snapshot_id for tag in GOLDEN["tags"]} == GOLDEN["tags"]
    for snapshot_id, operation, pins in GOLDEN["snapshots"]:
        found = memlake.at(lake, snapshot_id)
        assert found.operation == operation
        assert {pin.location: pin.version for pin in found.pins.values()} == pins


@pytest.mark.parametrize("at", dict.fromkeys(at for at, _, _ in TABLES))
def test_every_table_reads_as_it_was_written(lake, at):
    kept = {name: GOLDEN["tables"][f"{at} {name}"] for of, _, name in TABLES if of == at}
    assert stored.digests_of(lake, {name: table["columns"] for name, table in kept.items()}, at) == kept


@pytest.mark.parametrize("name", stored.LISTED)
def test_stored_hashes_and_ids_are_those_that_were_found_then(lake, name):
    assert stored.values_of(lake, stored.LISTED[name]) == GOLDEN[name]


def test_no_table_is_empty_so_that_all_of_them_are_proved(lake):
    rows = {name: GOLDEN["tables"][f"{at} {name}"]["rows"] for at, _, name in TABLES if at == GOLDEN["latest"]}
    assert [name for name, count in rows.items() if not count] == []


def test_audits_pass_the_doctor_is_content_and_the_books_tell_what_changed(place):
    verified, early, doctor, snapshots, diff, counted = stored.commands(
        ("tables", "verify"),
        ("tables", "verify", "--at", "first"),
        ("doctor",),
        ("snapshots", "ls"),
        ("snapshots", "diff", "first", "complete"),
        ("sql", "select count(*) as turns from turns", "--at", "first"),
        at=place,
        server="",
    )
    assert [ran.code for ran in (verified, early, doctor, snapshots, diff, counted)] == [0] * 6
    for ran in (verified, early):
        assert [audit for audit in ran.document["audits"] if audit["rows"]] == []
    assert doctor.document["problems"] == []
    lake_state = doctor.document["lake"]
    assert (lake_state["state"], lake_state["latest"], lake_state["lock"]) == ("readable", GOLDEN["latest"], "free")
    assert (lake_state["unfinished_shards"], lake_state["orphan_files"]) == (len(GOLDEN["unfinished"]), 0)
    assert [row["snapshot_id"] for row in snapshots.document] == [row[0] for row in GOLDEN["snapshots"]]
    assert {tag: row["snapshot_id"] for row in snapshots.document for tag in row["tags"]} == GOLDEN["tags"]
    grown = {row["table"]: (row["rows_old"], row["rows_new"]) for row in diff.document["tables"]}
    assert grown["turns"] == tuple(GOLDEN["tables"][f"{at} turns"]["rows"] for at in ("first", "complete"))
    assert {"corpus": "team", "part": "turns", "change": "changed", "conversations": 1} in diff.document["parts"]
    assert counted.document == [{"turns": GOLDEN["tables"]["first turns"]["rows"]}]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """What became of the commands that made the lake, run once more, offline; and the lake after them."""
    here = stored.unpack(tmp_path_factory.mktemp("repeated"))
    ended = stored.commands(*map(stored.offline, stored.STEPS.values()), at=here)
    return dict(zip(stored.STEPS, ended, strict=True)), here


@pytest.mark.parametrize("step", stored.STEPS)
def test_the_command_that_made_it_finds_nothing_new_and_needs_no_model(repeated, step):
    ran = repeated[0][step]
    assert ran.code == 0, ran
    assert (ran.document["snapshot_id"], ran.document["counts"]) == (None, {})
    assert ran.document["skipped"] > 0
    assert ran.document.get("models", {}).get("calls", 0) == 0


def test_after_these_commands_the_lake_is_what_it_was_and_holds_no_other_reply(repeated):
    here = repeated[1]
    opened = memlake.open(str(here / "lake"))
    assert memlake.at(opened).snapshot_id == GOLDEN["latest"]
    assert stored.cached(here) == GOLDEN["cache"]
    assert stored.staged(here) == GOLDEN["unfinished"]


def test_manifests_have_the_names_that_a_killed_run_of_then_gave_them(tmp_path):
    here = stored.unpack(tmp_path)
    made = stored.staged_by(*(stored.STEPS[step] for step in stored.NAMED), at=here)
    assert made == sorted(name for step in stored.NAMED for name in GOLDEN["manifests"][step])


def test_what_a_run_of_then_staged_and_could_not_publish_is_published_as_it_lies(tmp_path):
    here = stored.unpack(tmp_path)
    (name,) = stored.staged(here)
    files = json.loads((here / "lake" / "staged" / name).read_text())["files"]
    ran, verified = stored.commands(stored.LATER_INGEST, ("tables", "verify"), at=here)
    assert ran.code == 0, ran
    assert ran.document["base_snapshot_id"] == GOLDEN["latest"]
    assert (ran.document["counts"]["conversations"], stored.staged(here)) == (
        {"added": 1, "replaced": 0, "removed": 0}, [],
    )  # fmt: skip
    pins = memlake.at(memlake.open(str(here / "lake"))).pins
    for file in files:
        pin = pins[file["table"]]
        held = DeltaTable(here / "lake" / pin.location, version=pin.version).file_uris()
        assert Path(file["path"]).name in {Path(uri).name for uri in held}
    assert verified.code == 0


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """A copy of the lake in which the study ran again, without a model; with the ids of the stored and of the new run."""
    here = stored.unpack(tmp_path_factory.mktemp("replayed"))
    ran, listed = stored.commands(stored.offline(stored.STUDY), ("study", "ls"), at=here)
    assert ran.code == 0, ran
    assert (ran.document["read_snapshot_id"], ran.document["models"]["calls"]) == (GOLDEN["latest"], 0)
    new = ran.document["run_id"]
    (old,) = {row["run_id"] for row in listed.document["runs"] if row["study"] == "stored"} - {new}
    return here, old, new


def test_a_study_that_is_run_again_finds_answers_and_scores_the_same(replayed):
    here, old, new = replayed
    opened = memlake.open(str(here / "lake"))
    columns = {table: COLUMNS[table] for table in stored.RUN_TABLES}
    before, after = (stored.lines_of_run(opened, run_id, columns) for run_id in (old, new))
    assert all(before.values())
    for table in stored.RUN_TABLES:
        assert after[table] == before[table], table


def test_its_cells_have_the_settings_hashes_of_then_and_nothing_was_asked(replayed):
    here, _, new = replayed
    opened = memlake.open(str(here / "lake"))
    query = f"select study, cell, corpus, settings_hash, settings from cells where run_id = '{new}' order by all"
    assert stored.values_of(opened, query) == [cell for cell in GOLDEN["cells"] if cell[0] == "stored"]
    query = (
        f"select distinct request_hash from calls where run_id = '{new}' and stage in ('answer', 'judge') order by all"
    )
    asked = stored.values_of(opened, query)
    assert asked == sorted({*GOLDEN["requests of answers"], *GOLDEN["requests of judgements"]})
    assert stored.cached(here) == GOLDEN["cache"]


def test_the_stored_run_and_the_new_one_are_reported_shown_gated_and_compared(replayed):
    here, old, new = replayed
    ended = stored.commands(
        ("report", old, "--out", "old.html"),
        ("report", new, "--out", "new.html"),
        ("study", "show", old, "--by", "category"),
        ("study", "gate", "sources/study.toml", "--run", old),
        ("study", "gate", "sources/study.toml", "--run", new),
        ("sql", "--file", "study-statistics", "--param", f"run_id={old}"),
        ("sql", "--file", "study-costs", "--param", f"run_id={old}"),
        ("study", "compare", old, new, "--metric", "judge_accuracy"),
        at=here,
    )
    assert [ran.code for ran in ended] == [0] * len(ended), ended
    assert all((here / name).read_text(encoding="utf-8").startswith("<!") for name in ("old.html", "new.html"))
    compared = ended[-1].document
    assert compared["changed_questions"] == 0
    assert [pair for pair in compared["settings"] if pair["differ"]] == []
    values = [row["value"] for row in compared["differences"] if row["statistic"] == "difference"]
    assert set(values) <= {0.0, None}
    assert 0.0 in values


def test_a_changed_conversation_and_a_new_one_land_in_it(tmp_path):
    here = stored.unpack(tmp_path)
    talks = [json.loads(line) for line in (here / "sources" / "team" / "talks.jsonl").open() if '"garden"' in line]
    talks[0]["turns"][0]["text"] += " The old cherry was felled."
    talks.append({"conversation_id": "new", "turns": [{"text": "The loom is threaded.", "speaker": "Uta"}]})
    (here / "more.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    ran, again, turns, verified = stored.commands(
        ("ingest", "more.jsonl", "--corpus", "team", "--allow-dead-records", "1"),
        ("ingest", "more.jsonl", "--corpus", "team", "--allow-dead-records", "1"),
        ("represent", "turns", "--corpus", "team"),
        ("tables", "verify"),
        at=here,
    )
    assert [command.code for command in (ran, again, turns, verified)] == [0] * 4, (ran, again, turns, verified)
    assert ran.document["counts"]["conversations"] == {"added": 1, "replaced": 1, "removed": 0}
    assert {"units:turns", "units:artifacts"} <= set(ran.document["stale"])
    assert again.document["snapshot_id"] is None
    assert turns.document["counts"]["turns__static"] == {"added": 7, "replaced": 0, "removed": 0}
    opened = memlake.open(str(here / "lake"))
    query = "select text from turns where corpus = 'team' and conversation_id in ('garden', 'new') order by text"
    texts = [row["text"] for row in memlake.sql(opened, query).to_pylist()]
    assert "The loom is threaded." in texts
    assert sum(text.endswith("The old cherry was felled.") for text in texts) == 1
    kept = GOLDEN["tables"]["complete turns"]
    assert stored.digests_of(opened, {"turns": kept["columns"]}, "complete") == {"turns": kept}
