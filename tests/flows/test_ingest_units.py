"""Units that another system extracted, brought to conversations that the lake holds already."""

import json
from pathlib import Path

import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations

from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.run import landing
from memlake.flows.run.settings import ForgetSettings, IngestSettings
from memlake.transforms.base.errors import TooManyDeadLettersError, UsageError
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake

TALKS = [conversation(f"c{n}", 8) for n in range(3)]


def settings(tmp_path: Path, *sources: Path, **more) -> IngestSettings:
    return IngestSettings(str(tmp_path / "lake"), "c", tuple(map(str, sources)), **more)


def write_units(path: Path, units: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(unit, ensure_ascii=False) + "\n" for unit in units), encoding="utf-8")
    return path


def unit(number: int, text: str, *turn_ids: str, **more: object) -> dict[str, object]:
    held = {"conversation_id": f"c{number}", "representation": "notes", "text": text, "turn_ids": list(turn_ids)}
    return held | more


UNITS = [unit(n, f"Note {place} of {n}.", f"t{place}", kind="note") for place in (1, 6) for n in range(3)]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    ingest(settings(tmp_path, write_conversations(tmp_path / "chats.jsonl", TALKS)))
    return tmp_path / "lake"


def rows(lake: Path, query: str) -> list[tuple]:
    with connect(open_lake(str(lake))) as connection:
        return connection.execute(query).fetchall()


def test_units_land_beside_turns_that_stay_and_a_second_run_changes_nothing(tmp_path, lake):
    before = digest(lake)
    source = write_units(tmp_path / "units.jsonl", UNITS)
    made = ingest(settings(tmp_path, source))
    assert made["counts"]["units"] == {"added": 6, "replaced": 0, "removed": 0}
    assert made["counts"]["notes__static"] == {"added": 6, "replaced": 0, "removed": 0}
    assert "turns" not in made["counts"]
    assert (made["stale"], made["dead_letters"]) == ([], {})
    assert digest(lake)["turns"] == before["turns"]
    assert digest(lake)["chunks__static"] == before["chunks__static"]
    assert rows(
        lake,
        """
        select units.show_text, units.kind, provenance.turn_id, provenance.ordinal, provenance.grounding
        from units join provenance using (corpus, representation, unit_id)
        where units.representation = 'notes' and units.conversation_id = 'c1' order by units.ordinal
        """,
    ) == [
        ("[2025-01-02T10:00Z] Note 1 of 1.", "note", "t1", 1, "none"),
        ("[2025-01-09T10:00Z] Note 6 of 1.", "note", "t6", 6, "none"),
    ]
    assert_sound(lake)
    again = ingest(settings(tmp_path, source))
    assert (again["snapshot_id"], again["skipped"]) == (None, 3)
    as_list = tmp_path / "units.json"
    as_list.write_text(json.dumps(UNITS), encoding="utf-8")
    assert ingest(settings(tmp_path, as_list))["snapshot_id"] is None


def test_a_changed_unit_replaces_its_conversations_units_alone(tmp_path, lake):
    source = write_units(tmp_path / "units.jsonl", UNITS)
    ingest(settings(tmp_path, source))
    write_units(source, [*UNITS[:-1], unit(2, "Another note.", "t6", kind="note")])
    made = ingest(settings(tmp_path, source))
    assert made["skipped"] == 2
    assert made["counts"]["units"] == {"added": 0, "replaced": 2, "removed": 0}
    assert rows(lake, "select count(*) from units where representation = 'notes'") == [(6,)]
    assert_sound(lake)


def test_new_turns_make_units_stale_and_the_file_brings_them_back(tmp_path, lake):
    source = write_units(tmp_path / "units.jsonl", UNITS)
    ingest(settings(tmp_path, source))
    grown = [conversation(f"c{n}", 8) for n in range(3)]
    grown[1]["turns"].insert(0, {"turn_id": "first", "speaker": "Ann", "text": "before all that", "session_id": "s0"})
    made = ingest(settings(tmp_path, write_conversations(tmp_path / "chats.jsonl", grown)))
    assert made["stale"] == ["units:notes", "vectors:notes__static"]
    assert rows(lake, "select count(*) from units where representation = 'notes'") == [(4,)]
    back = ingest(settings(tmp_path, source))
    assert back["counts"]["units"] == {"added": 2, "replaced": 0, "removed": 0}
    assert rows(lake, "select distinct ordinal from provenance where conversation_id = 'c1' and turn_id = 't6'") == [
        (7,)
    ]
    assert_sound(lake)


def test_turns_that_change_while_units_are_staged_are_the_ones_that_the_units_meet(tmp_path, lake, monkeypatch):
    grown = [conversation(f"c{n}", 8) for n in range(3)]
    grown[1]["turns"].insert(0, {"turn_id": "first", "speaker": "Ann", "text": "before all that", "session_id": "s0"})
    chats = write_conversations(tmp_path / "grown.jsonl", grown)
    publish, moved = landing.publish_shards, []

    def publish_late(*arguments, **more):
        if not moved:
            moved.append(True)
            ingest(settings(tmp_path, chats))
        return publish(*arguments, **more)

    monkeypatch.setattr(landing, "publish_shards", publish_late)
    made = ingest(settings(tmp_path, write_units(tmp_path / "units.jsonl", UNITS)))
    assert moved
    assert made["counts"]["units"] == {"added": 6, "replaced": 0, "removed": 0}
    assert rows(
        lake,
        "select distinct conversation_id, ordinal from provenance where turn_id = 't6' and representation = 'notes'"
        " order by all",
    ) == [("c0", 6), ("c1", 7), ("c2", 6)]
    assert_sound(lake)


def test_what_cannot_land_says_why_and_the_rest_lands(tmp_path, lake):
    bad = [
        unit(9, "Of a conversation that is not there.", "t1"),
        unit(0, "Under a name that is taken.", "t1", representation="chunks-mine"),
        unit(0, "Of a turn that is not there.", "t1", "t99"),
    ]
    with pytest.raises(TooManyDeadLettersError) as caught:
        ingest(settings(tmp_path, write_units(tmp_path / "units.jsonl", [*UNITS, *bad])))
    assert caught.value.document["dead_letters"] == {
        "dangling_turn": 1,
        "reserved_representation": 1,
        "unknown_conversation": 1,
    }
    assert rows(lake, "select count(*) from units where representation = 'notes'") == [(7,)]
    assert rows(lake, "select count(*) from units where representation = 'chunks-mine'") == [(0,)]
    assert_sound(lake)


def test_units_without_any_stored_conversation_land_nothing(tmp_path):
    source = write_units(tmp_path / "units.jsonl", UNITS)
    dry = ingest(settings(tmp_path, source, dry_run=True))
    assert dry["dead_letters"] == {"unknown_conversation": 3}
    with pytest.raises(TooManyDeadLettersError) as caught:
        ingest(settings(tmp_path, source))
    assert caught.value.document["snapshot_id"] is None


def test_units_of_a_forgotten_conversation_stay_out(tmp_path, lake):
    source = write_units(tmp_path / "units.jsonl", UNITS)
    ingest(settings(tmp_path, source))
    forget(ForgetSettings(str(lake), "c", "c1"))
    made = ingest(settings(tmp_path, source))
    assert (made["snapshot_id"], made["dead_letters"]) == (None, {"forgotten_conversation": 1})
    assert rows(lake, "select count(*) from units where conversation_id = 'c1'") == [(0,)]


def test_transcripts_and_units_in_one_command_are_refused_before_any_work(tmp_path):
    chats = write_conversations(tmp_path / "chats.jsonl", TALKS)
    with pytest.raises(UsageError, match="units for stored conversations"):
        ingest(settings(tmp_path, chats, write_units(tmp_path / "units.jsonl", UNITS)))
    assert not (tmp_path / "lake").exists()


def test_two_files_may_bring_two_representations_and_one_only_once(tmp_path, lake):
    notes = write_units(tmp_path / "a.jsonl", UNITS)
    copy = write_units(tmp_path / "b.jsonl", UNITS)
    others = write_units(tmp_path / "c.jsonl", [unit | {"representation": "others"} for unit in UNITS])
    ingest(settings(tmp_path, notes, copy, others))
    assert rows(lake, "select representation, count(*) from units group by all order by all")[1:] == [
        ("notes", 6),
        ("others", 6),
    ]
    assert_sound(lake)
    write_units(notes, [unit(0, "One version.", "t1")])
    write_units(copy, [unit(0, "Another version.", "t1")])
    with pytest.raises(TooManyDeadLettersError) as caught:
        ingest(settings(tmp_path, notes, copy))
    assert caught.value.document["dead_letters"] == {"conflicting_versions": 1}
    assert_sound(lake)
