"""The ingest flow on real files, in line: what lands, what a second run does, and what hostile input leaves."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations, write_turns

from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import ForgetSettings, IngestSettings
from memlake.transforms.base.errors import NotFoundError, TooManyDeadLettersError, UsageError
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake


def settings(tmp_path: Path, *sources: Path, **more) -> IngestSettings:
    return IngestSettings(str(tmp_path / "lake"), "c", tuple(map(str, sources)), **more)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "chats.jsonl", [conversation(f"c{n}", 12 + n) for n in range(6)])


def test_ingest_twice_gives_the_same_rows_no_snapshot_and_no_embedding(tmp_path, source, monkeypatch):
    first = ingest(settings(tmp_path, source))
    before = digest(tmp_path / "lake")

    def no_embedding(*_):
        raise AssertionError("embedded again")

    monkeypatch.setattr("memlake.transforms.embed.batches.embed_units", no_embedding)
    monkeypatch.setattr("memlake.transforms.represent.batches.represent", no_embedding)
    second = ingest(settings(tmp_path, source))
    assert first["snapshot_id"]
    assert second["snapshot_id"] is None
    assert second["skipped"] == 6
    assert second["counts"] == {}
    assert digest(tmp_path / "lake") == before
    assert_sound(tmp_path / "lake")


def test_a_renamed_copy_changes_nothing(tmp_path, source):
    ingest(settings(tmp_path, source))
    copy = tmp_path / "renamed.dat"
    copy.write_bytes(source.read_bytes())
    assert ingest(settings(tmp_path, copy))["snapshot_id"] is None
    assert ingest(settings(tmp_path, copy, source))["snapshot_id"] is None


def test_a_grown_conversation_is_replaced_and_the_others_stay(tmp_path, source):
    ingest(settings(tmp_path, source, representations=("chunks", "sentences")))
    grown = [conversation(f"c{n}", 12 + n) for n in range(6)]
    grown[2]["turns"].append({"turn_id": "more", "speaker": "Ann", "text": "one more thing", "session_id": "s1"})
    made = ingest(settings(tmp_path, write_conversations(source, grown)))
    assert made["skipped"] == 5
    assert made["counts"]["conversations"] == {"added": 0, "replaced": 1, "removed": 0}
    assert made["stale"] == ["units:sentences", "vectors:sentences__static"]
    assert_sound(tmp_path / "lake")
    clean = IngestSettings(str(tmp_path / "clean"), "c", (str(source),))
    ingest(clean)
    same = digest(tmp_path / "clean")
    assert digest(tmp_path / "lake")["turns"] == same["turns"]
    assert digest(tmp_path / "lake")["chunks__static"] == same["chunks__static"]


def test_turns_spread_over_lines_and_files_land_as_whole_conversations(tmp_path):
    made = [conversation(f"c{n}", 20) for n in range(5)]
    lines = write_turns(tmp_path / "turns.jsonl", made).read_text().splitlines(keepends=True)
    for place in range(3):
        (tmp_path / f"part{place}.jsonl").write_text("".join(lines[place::3]))
    whole = IngestSettings(str(tmp_path / "whole"), "c", (str(tmp_path / "turns.jsonl"),))
    cut = IngestSettings(str(tmp_path / "cut"), "c", (str(tmp_path / "turns.jsonl"),), shard_bytes=2_000)
    ingest(whole)
    ingest(cut)
    assert digest(tmp_path / "whole") == digest(tmp_path / "cut")
    assert_sound(tmp_path / "cut")
    again = ingest(cut)
    assert again["snapshot_id"] is None
    assert again["skipped"] == 5


def test_byte_ranges_give_the_same_rows_as_whole_files(tmp_path, source):
    ingest(IngestSettings(str(tmp_path / "one"), "c", (str(source),)))
    ingest(IngestSettings(str(tmp_path / "many"), "c", (str(source),), shard_bytes=1_500))
    assert digest(tmp_path / "one") == digest(tmp_path / "many")


def test_two_worker_processes_give_the_same_rows_as_one(tmp_path, source):
    ingest(IngestSettings(str(tmp_path / "one"), "c", (str(source),)))
    ingest(IngestSettings(str(tmp_path / "two"), "c", (str(source),), shard_bytes=4_000, workers=2))
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_a_snapshot_shows_the_lake_as_it_was(tmp_path, source):
    first = ingest(settings(tmp_path, source))
    more = write_conversations(tmp_path / "more.jsonl", [conversation("later", 8)])
    ingest(settings(tmp_path, more))
    lake = open_lake(str(tmp_path / "lake"))
    for at, expected in ((first["snapshot_id"], 6), ("latest", 7)):
        with connect(lake, at) as connection:
            assert connection.sql("select count(*) from conversations").fetchall() == [(expected,)]
            found = connection.sql('select count(distinct conversation_id) from "chunks__static"').fetchall()
            assert found == [(expected,)]


def test_one_export_and_its_grown_successor_in_one_run_land_once(tmp_path):
    small, grown = conversation("c", 10), conversation("c", 10)
    grown["turns"].append({"turn_id": "x", "speaker": "Ann", "text": "newest", "session_id": "s1"})
    for order in ((small, grown), (grown, small)):
        for place, version in enumerate(order):
            write_conversations(tmp_path / f"{place}.jsonl", [version])
        made = ingest(
            IngestSettings(
                str(tmp_path / f"lake{order[0] is small}"), "c", (str(tmp_path / "0.jsonl"), str(tmp_path / "1.jsonl"))
            )
        )
        assert made["counts"]["turns"]["added"] == 11
    assert digest(tmp_path / "lakeTrue")["turns"] == digest(tmp_path / "lakeFalse")["turns"]
    assert_sound(tmp_path / "lakeTrue")


def test_bad_lines_become_dead_letters_and_everything_else_lands(tmp_path, source):
    with source.open("a") as file:
        file.write('{"conversation_id": "cut", "turns": [{"te\n')
        file.write(
            json.dumps({"conversation_id": "half", "turns": [{"text": "half \ud83d"}, {"text": None}, {"text": "  "}]})
            + "\n"
        )
    with pytest.raises(TooManyDeadLettersError) as caught:
        ingest(settings(tmp_path, source, allow_dead_records=0.0))
    made = caught.value.document
    assert made["seen"]["conversations"] == 7
    assert made["dead_letters"] == {"empty_text": 1, "lone_surrogate": 1, "null_text": 1, "truncated_json": 1}
    assert made["snapshot_id"] is not None
    with connect(open_lake(str(tmp_path / "lake"))) as connection:
        rows = connection.sql("select reason, source_uri, position from dead_letters where reason = 'truncated_json'")
        assert rows.fetchall() == [("truncated_json", str(source), 7)]
        assert connection.sql("select text from turns where conversation_id = 'half'").fetchall() == [("half \ufffd",)]
    assert_sound(tmp_path / "lake")
    assert ingest(settings(tmp_path, source, allow_dead_records=0.5))["snapshot_id"] is None


def test_a_file_that_cannot_be_read_is_named_and_the_others_land(tmp_path, source):
    (tmp_path / "noise.bin").write_bytes(b"\xff\xfe\x00\x81" * 50)
    with pytest.raises(TooManyDeadLettersError, match=r"1 of 2 files died"):
        ingest(settings(tmp_path, source, tmp_path / "noise.bin"))
    assert ingest(settings(tmp_path, source, tmp_path / "noise.bin", allow_dead=0.5))["skipped"] == 6


def test_nonsense_settings_are_refused_before_any_work(tmp_path, source):
    for more in ({"overlap": 512}, {"overlap": 600}, {"overlap": -1}, {"chunk_size": 0}):
        with pytest.raises(UsageError):
            ingest(settings(tmp_path, source, **more))
    with pytest.raises(UsageError):
        ingest(IngestSettings(str(tmp_path / "lake"), "../up", (str(source),)))
    with pytest.raises(NotFoundError):
        ingest(settings(tmp_path, tmp_path / "nowhere.jsonl"))
    assert not (tmp_path / "lake").exists()


def test_the_refused_runners_are_refused(tmp_path, source):
    with pytest.raises(UsageError, match="dask"):
        ingest(settings(tmp_path, source, runner="dask"))


def test_a_dry_run_reads_everything_and_writes_nothing(tmp_path, source):
    made = ingest(settings(tmp_path, source, dry_run=True))
    assert made["seen"]["conversations"] == 6
    assert not (tmp_path / "lake").exists()


def test_two_ingests_at_once_land_both_or_refuse_one(tmp_path):
    sources = [
        write_conversations(
            tmp_path / f"{name}.jsonl", [conversation(f"{name}{n}", 10) for n in range(4)] + [conversation("both", 10)]
        )
        for name in "ab"
    ]
    script = "import sys; from memlake.flows.ingest import *; ingest(IngestSettings(sys.argv[1], 'c', (sys.argv[2],)))"
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "lake"), str(source)]) for source in sources
    ]
    assert [process.wait(timeout=100) for process in running] == [0, 0]
    with connect(open_lake(str(tmp_path / "lake"))) as connection:
        assert connection.sql("select count(*) from conversations").fetchall() == [(9,)]
    assert_sound(tmp_path / "lake")


def test_a_forgotten_conversation_leaves_every_table_and_does_not_come_back(tmp_path, source):
    first = ingest(settings(tmp_path, source))
    made = forget(ForgetSettings(str(tmp_path / "lake"), "c", "c3"))
    assert made["removed"]["turns"] == 15
    again = ingest(settings(tmp_path, source))
    assert again["snapshot_id"] is None
    lake = open_lake(str(tmp_path / "lake"))
    with connect(lake) as connection:
        for name in ("conversations", "turns", "units", "provenance", "chunks__static"):
            found = connection.sql(f"select count(*) from \"{name}\" where conversation_id = 'c3'").fetchall()
            assert found == [(0,)], name
    with connect(lake, first["snapshot_id"]) as connection:
        assert connection.sql("select count(*) from turns where conversation_id = 'c3'").fetchall() == [(15,)]
    with pytest.raises(NotFoundError):
        forget(ForgetSettings(str(tmp_path / "lake"), "c", "c3"))
    assert_sound(tmp_path / "lake")


def test_the_vectors_are_a_lancedb_table_that_answers_a_search(tmp_path, source):
    import lancedb

    ingest(settings(tmp_path, source))
    table = lancedb.connect(str(tmp_path / "lake" / "lance")).open_table("chunks__static")
    schema = table.schema
    assert schema.metadata[b"memlake:embedder"] == b"static"
    assert schema.field("vector").type.list_size == 256
    row = table.to_arrow().slice(0, 1).to_pylist()[0]
    found = table.search(row["vector"]).metric("cosine").limit(1).to_list()
    assert found[0]["unit_id"] == row["unit_id"]


def test_the_record_is_a_delta_table_that_other_readers_read(tmp_path, source):
    from deltalake import DeltaTable

    ingest(settings(tmp_path, source))
    table = DeltaTable(tmp_path / "lake" / "parquet" / "turns")
    assert table.metadata().partition_columns == ["corpus"]
    assert table.to_pyarrow_table()["text"].to_pylist()
    assert table.schema().to_arrow() is not None


def test_evidence_follows_its_turns_when_turns_are_put_before_them(tmp_path, source):
    talk = conversation("asked", 8)
    talk["questions"] = [{"question_id": "q", "text": "which one?", "answer": "3", "evidence": ["t3", "t5"]}]
    ingest(settings(tmp_path, write_conversations(source, [talk])))
    grown = {**talk, "turns": [{**talk["turns"][0], "turn_id": "new", "text": "before all"}, *talk["turns"]]}
    ingest(settings(tmp_path, write_conversations(source, [grown])))
    with connect(open_lake(str(tmp_path / "lake"))) as connection:
        found = connection.sql("select turn_id, ordinal from evidence order by position").fetchall()
    assert found == [("t3", 4), ("t5", 6)]
    assert_sound(tmp_path / "lake")


def test_labels_that_a_new_read_no_longer_has_go_with_the_old_turns(tmp_path):
    made = conversation("c", 8)
    ask = {"text": "what then", "answer": "river", "evidence": ["t3"]}
    made["questions"] = [{**ask, "question_id": "q", "label_set": label} for label in ("official", "mine")]
    source = write_conversations(tmp_path / "labels.jsonl", [made])
    ingest(settings(tmp_path, source))
    made["turns"].insert(0, {"turn_id": "before", "speaker": "Ann", "text": "one more in front", "session_id": "s0"})
    made["questions"] = made["questions"][:1]
    again = ingest(settings(tmp_path, write_conversations(source, [made])))
    assert again["stale"] == ["questions:mine"]
    assert again["counts"]["questions"] == {"added": 0, "replaced": 1, "removed": 1}
    assert_sound(tmp_path / "lake")
