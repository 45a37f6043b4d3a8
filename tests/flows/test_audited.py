"""Nothing is published that an audit would not pass: faults of every stage, on the whole flow."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lake_contents import assert_sound
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.base.errors import AuditError
from memlake.transforms.embed.vectors import embed_units
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.stage.bundle import keep_staged
from memlake.transforms.lake.storage.lake import open_lake


@pytest.fixture
def ingest_settings(tmp_path):
    source = write_conversations(tmp_path / "chats.jsonl", [conversation(f"c{n}", 8) for n in range(3)])
    return IngestSettings(str(tmp_path / "lake"), "c", (str(source),))


def vectors_lost(units, embedder):
    table, rejected = embed_units(units, embedder)
    return table.slice(1), rejected


def vectors_doubled(units, embedder):
    table, rejected = embed_units(units, embedder)
    return pa.concat_tables([table.slice(1, 1), table.slice(1)]), rejected


def without_turns_of_one(batch):
    kept = keep_staged(batch)
    turns = kept.tables["turns"]
    return replace(kept, tables={**kept.tables, "turns": turns.filter(pc.not_equal(turns["conversation_id"], "c1"))})


def without_units_of_one(batch):
    kept = keep_staged(batch)
    lost = {
        name: rows.filter(pc.not_equal(rows["conversation_id"], "c1"))
        for name, rows in kept.tables.items()
        if name in ("units", "provenance")
    }
    return replace(kept, tables={**kept.tables, **lost})


@pytest.mark.parametrize(
    ("target", "fault", "audit"),
    [
        ("memlake.transforms.embed.batches.embed_units", vectors_lost, "vectors"),
        ("memlake.transforms.embed.batches.embed_units", vectors_doubled, "vectors"),
        ("memlake.transforms.lake.stage.bundle.keep_staged", without_turns_of_one, "rebuild"),
        ("memlake.transforms.lake.stage.bundle.keep_staged", without_units_of_one, "rebuild"),
    ],
)
def test_a_fault_of_any_stage_publishes_nothing_and_names_its_audit(ingest_settings, monkeypatch, target, fault, audit):
    with monkeypatch.context() as patch:
        patch.setattr(target, fault)
        with pytest.raises(AuditError, match=f"{audit}: "):
            ingest(ingest_settings)
    lake = open_lake(ingest_settings.lake)
    assert lake.snapshots().num_rows == 0
    assert [path.name for path in lake.staged.glob("*.manifest.json")] == []
    with connect(lake, lake.latest()) as connection:
        ended = connection.sql("select outcome, snapshot_id from runs where event = 'ended'").fetchall()
    assert ended == [("audit_failed", None)]
    assert ingest(ingest_settings)["counts"]["conversations"]["added"] == 3
    assert_sound(ingest_settings.lake)


def test_a_run_is_journalled_when_it_starts_and_when_it_ends_whatever_ends_it(ingest_settings, monkeypatch):
    def dying(*_, **__):
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("memlake.flows.run.landing.publish_shards", dying)
        with pytest.raises(RuntimeError, match="the disk is full"):
            ingest(ingest_settings)
    made = [ingest(ingest_settings), ingest(ingest_settings)]
    with connect(open_lake(ingest_settings.lake)) as connection:
        rows = connection.sql("select event, outcome, snapshot_id, run_id from runs order by logged_at").fetchall()
    assert [row[:3] for row in rows] == [
        ("started", "running", None),
        ("ended", "failed", None),
        ("started", "running", None),
        ("ended", "published", made[0]["snapshot_id"]),
        ("started", "running", None),
        ("ended", "unchanged", None),
    ]
    assert [row[3] for row in rows[2:]] == [run["run_id"] for run in made for _ in range(2)]


def test_journals_are_read_as_they_are_now_whatever_snapshot_is_looked_at(ingest_settings):
    first = ingest(ingest_settings)
    ingest(ingest_settings)
    with connect(open_lake(ingest_settings.lake), first["snapshot_id"]) as connection:
        assert connection.sql("select count(distinct run_id) from runs").fetchall() == [(2,)]


def with_texts_cut_short(batch):
    kept = keep_staged(batch)
    units = kept.tables["units"]
    cut = pc.utf8_slice_codeunits(units["show_text"], 0, -1)
    place = units.schema.get_field_index("show_text")
    return replace(kept, tables={**kept.tables, "units": units.set_column(place, units.schema.field(place), cut)})


def test_the_only_conversation_of_a_file_is_audited_like_any_other(tmp_path, ingest_settings, monkeypatch):
    source = write_conversations(tmp_path / "one.jsonl", [conversation("only", 8)])
    monkeypatch.setattr("memlake.transforms.lake.stage.bundle.keep_staged", with_texts_cut_short)
    with pytest.raises(AuditError, match="rebuild: "):
        ingest(replace(ingest_settings, sources=(str(source),)))
    assert open_lake(ingest_settings.lake).snapshots().num_rows == 0
