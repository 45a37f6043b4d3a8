"""memlake link: rows of links land like units do, are replaced by other settings, and go when their units change."""

import json
import shutil

import numpy as np
import pyarrow.compute as pc
import pytest
from lake_contents import assert_sound, digest
from sample_chats import conversation, write_conversations

from memlake.flows.cli.main import run as command
from memlake.flows.cli.printing.remedies import remedy
from memlake.flows.embed import embed
from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.link import link
from memlake.flows.represent import represent
from memlake.flows.run import landing
from memlake.flows.run.settings import EmbedSettings, ForgetSettings, IngestSettings, LinkRunSettings, RepresentSettings
from memlake.transforms.base.arrays import GRID, on_grid
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.link.settings import LinkSettings

LOW = LinkSettings(0.2, 3)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    """A lake with turns and chunks, embedded."""
    folder = tmp_path_factory.mktemp("ingested")
    source = write_conversations(folder / "talks.jsonl", [conversation(f"v{n}", 12) for n in range(3)])
    ingest(IngestSettings(str(folder / "lake"), "c", (str(source),), representations=("chunks", "turns")))
    return folder / "lake"


@pytest.fixture
def lake(ingested, tmp_path):
    """A copy of it for one test."""
    return str(shutil.copytree(ingested, tmp_path / "lake"))


def grown(tmp_path):
    """The same conversations, one of them with more turns."""
    talks = [conversation("v0", 12), conversation("v1", 16), conversation("v2", 12)]
    source = write_conversations(tmp_path / "grown.jsonl", talks)
    return str(source)


def links_of(lake):
    rows = open_lake(lake).snapshot().read("links")
    return sorted(
        (row["representation"], row["relation"], row["conversation_id"], row["source_unit"], row["target_unit"])
        for row in rows.to_pylist()
    )


def wish(lake, *names, links=LOW, **more):
    return LinkRunSettings(lake, "c", names or ("turns",), links=links, **more)


def test_links_are_those_of_the_stored_vectors_and_a_second_run_changes_nothing(lake):
    made = link(wish(lake))
    snapshot = open_lake(lake).snapshot()
    rows = snapshot.read("links")
    assert made["counts"] == {"links": {"added": rows.num_rows, "replaced": 0, "removed": 0}}
    assert (made["stale"], made["dead_letters"]) == ([], {})
    vectors = snapshot.vectors("turns", "static").to_table(filter=pc.field("corpus") == "c")
    at = dict(zip(vectors["unit_id"].to_pylist(), np.array(vectors["vector"].to_pylist(), np.float32), strict=True))
    assert rows.num_rows > 30
    assert max(rows.group_by("source_unit").aggregate([([], "count_all")])["count_all"].to_pylist()) == 3
    for row in rows.to_pylist():
        source, target = (on_grid(at[row[end]][None]) for end in ("source_unit", "target_unit"))
        assert row["weight"] == float(np.float32((source @ target.T).item() / GRID**2)) >= 0.2
    before = digest(lake)
    again = link(wish(lake))
    assert (again["snapshot_id"], again["counts"], again["skipped"]) == (None, {}, 3)
    assert digest(lake) == before
    assert_sound(lake)


@pytest.mark.long
def test_other_settings_under_the_same_name_replace_and_another_name_stands_beside(lake):
    link(wish(lake, "turns", "chunks"))
    before = links_of(lake)
    made = link(wish(lake, links=LinkSettings(0.2, 1)))
    assert made["counts"]["links"]["replaced"] > 0
    # Counted as `replaced` are rows that came; fewer came than went.
    after = links_of(lake)
    assert {row for row in after if row[0] == "chunks"} == {row for row in before if row[0] == "chunks"}
    assert 0 < len([row for row in after if row[0] == "turns"]) <= 36
    link(wish(lake, links=LinkSettings(0.2, 3, relation="other")))
    both = links_of(lake)
    assert [row for row in both if row[1] == "similar"] == after
    assert len([row for row in both if row[1] == "other"]) == len([row for row in before if row[0] == "turns"])
    link(wish(lake))
    assert [row for row in links_of(lake) if row[1] == "similar"] == before
    assert_sound(lake)


def test_a_conversation_that_changes_loses_its_links_alone_until_they_are_made_again(lake, tmp_path):
    link(wish(lake))
    before = links_of(lake)
    made = ingest(IngestSettings(lake, "c", (grown(tmp_path),), representations=("chunks", "turns")))
    gone = [row for row in before if row[2] == "v1"]
    assert made["stale"] == ["links:turns:similar"]
    assert remedy(made["stale"][0], among=made["stale"], corpus="c", lake=lake) == (
        f"memlake link turns --corpus c --k 3 --relation similar --threshold 0.2 --embedder static --lake {lake}"
    )
    assert made["counts"]["links"] == {"added": 0, "replaced": 0, "removed": len(gone)}
    assert links_of(lake) == [row for row in before if row[2] != "v1"]
    again = link(wish(lake))
    assert (again["skipped"], again["counts"]["links"]["replaced"]) == (2, 0)
    assert {row[2] for row in links_of(lake)} == {"v0", "v1", "v2"}
    assert_sound(lake)


def noted(tmp_path):
    """Two sources of one conversation whose notes differ."""
    talk = conversation("v", 4)
    sources = []
    for number, notes in enumerate((["a red lamp", "a red lamp too"], ["a blue lamp", "a blue lamp too"])):
        units = [{"representation": "notes", "text": text, "turn_ids": ["t1"]} for text in notes]
        sources.append(str(write_conversations(tmp_path / f"{number}.jsonl", [talk | {"units": units}])))
    return sources


@pytest.mark.long
def test_units_that_are_made_anew_of_the_same_turns_take_their_links_with_them(tmp_path):
    lake = str(tmp_path / "lake")
    sources = noted(tmp_path)
    ingest(IngestSettings(lake, "c", (sources[0],)))
    link(wish(lake, "notes"))
    assert len(links_of(lake)) == 2
    made = ingest(IngestSettings(lake, "c", (sources[1],)))
    assert made["stale"] == ["links:notes:similar"]
    assert made["counts"]["links"]["removed"] == 2
    assert links_of(lake) == []
    link(wish(lake, "notes"))
    assert len(links_of(lake)) == 2
    assert_sound(lake)


@pytest.mark.long
def test_units_that_are_made_anew_without_vectors_take_the_old_ones_with_them_too(tmp_path):
    lake = str(tmp_path / "lake")
    sources = noted(tmp_path)
    ingest(IngestSettings(lake, "c", (sources[0],)))
    link(wish(lake, "notes"))
    made = ingest(IngestSettings(lake, "c", (sources[1],), embedder="none"))
    assert made["stale"] == ["links:notes:similar", "vectors:notes__static"]
    assert_sound(lake)
    embed(EmbedSettings(lake, "c", representations=("notes",)))
    link(wish(lake, "notes"))
    assert len(links_of(lake)) == 2
    assert_sound(lake)


@pytest.mark.long
def test_a_conversation_that_is_forgotten_takes_its_links_with_it_each_counted_once(lake):
    link(wish(lake))
    of_it = [row for row in links_of(lake) if row[2] == "v1"]
    made = forget(ForgetSettings(lake, "c", "v1"))
    assert made["removed"]["links"] == len(of_it) > 0
    assert {row[2] for row in links_of(lake)} == {"v0", "v2"}
    assert link(wish(lake))["snapshot_id"] is None
    assert_sound(lake)


@pytest.mark.long
def test_units_that_change_while_links_are_staged_are_linked_again(lake, tmp_path, monkeypatch):
    stage, staged = landing.carry_out, []

    def and_meanwhile(*job, **more):
        names = stage(*job, **more)
        staged.append(names)
        if len(staged) == 1:
            ingest(IngestSettings(lake, "c", (grown(tmp_path),), representations=("chunks", "turns")))
        return names

    monkeypatch.setattr(landing, "carry_out", and_meanwhile)
    link(wish(lake))
    monkeypatch.undo()
    assert len(staged) == 3  # the links, what came meanwhile, the links again
    assert {row[2] for row in links_of(lake)} == {"v0", "v1", "v2"}
    assert link(wish(lake))["snapshot_id"] is None
    assert_sound(lake)


@pytest.mark.long
def test_units_without_vectors_are_refused_with_the_command_that_embeds_them(lake):
    represent(RepresentSettings(lake, "c", ("sentences",), embedder="none"))
    with pytest.raises(NotFoundError, match="'sentences' is not embedded") as caught:
        link(wish(lake, "sentences"))
    assert caught.value.hint == "memlake embed --corpus c --representations sentences --embedder static"
    embed(EmbedSettings(lake, "c", representations=("sentences",)))
    assert link(wish(lake, "sentences"))["counts"]["links"]["added"] > 0
    with pytest.raises(NotFoundError, match="'nothing'"):
        link(wish(lake, "nothing"))


def test_the_command_prints_one_document_and_names_what_is_wrong(lake, capfd):
    line = [
        "link",
        "turns",
        "--corpus",
        "c",
        "--lake",
        lake,
        "--k",
        "2",
        "--threshold",
        "0.1",
        "--no-prefect",
        "--json",
    ]
    assert command(line) == 0
    assert json.loads(capfd.readouterr().out)["counts"]["links"]["added"] == len(links_of(lake))
    assert command([*line, "--shared-word-threshold", "0.5"]) == 2
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "usage"
