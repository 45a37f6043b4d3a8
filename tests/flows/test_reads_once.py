"""What one ingest looks up: what the lake holds once a batch and once under the lock, a manifest once, the audits' views once."""

from collections import Counter

import pytest
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.lake.commit import audit
from memlake.transforms.lake.stage import manifest
from memlake.transforms.lake.storage.snapshot import Snapshot


def test_an_ingest_looks_nothing_up_twice(tmp_path, monkeypatch):
    source = write_conversations(tmp_path / "chats.jsonl", [conversation("c", 10)])
    settings = IngestSettings(str(tmp_path / "lake"), "c", (str(source),), representations=("chunks", "turns"))
    ingest(settings)
    write_conversations(source, [conversation("c", 12)])
    looked: Counter[str] = Counter()

    def counted(owner: object, function: str, name: int) -> None:
        whole = getattr(owner, function)

        def counting(*arguments: object, **more: object) -> object:
            found = whole(*arguments, **more)
            if found is not None or owner is audit:
                looked[
                    f"{function} {getattr(arguments[name], 'name', arguments[name]) if name >= 0 else ''}".strip()
                ] += 1
            return found

        monkeypatch.setattr(owner, function, counting)

    counted(Snapshot, "read", 1)
    counted(manifest, "read_manifest", 1)
    counted(audit, "bare_connection", -1)
    counted(audit, "create_view", 1)
    assert ingest(settings)["counts"]["turns"] == {"added": 0, "replaced": 12, "removed": 0}
    [shard] = [name for name in looked if name.startswith("read_manifest")]
    # Of the base that was there when the run began, and of the base under the lock, which may be another.
    assert looked.pop("read parts") == looked.pop("read representations") == 2
    assert looked.pop(shard) == looked.pop("bare_connection") == 1
    assert set(looked.values()) == {1}
    assert {"create_view parts", "create_view turns"} <= set(looked)


@pytest.mark.parametrize("conversations", [1, 3])
def test_audits_of_several_groups_are_those_of_one(tmp_path, monkeypatch, conversations):
    monkeypatch.setattr(audit, "GROUP_CHARS", 1)
    names = [f"c{number}" for number in range(conversations)]
    source = write_conversations(tmp_path / "chats.jsonl", [conversation(name, 4) for name in names])
    whole, rounds = audit._run, []
    monkeypatch.setattr(
        audit,
        "_run",
        lambda connection, audits, found: (
            rounds.append([file.name for file in audits]) or whole(connection, audits, found)
        ),
    )
    ingest(IngestSettings(str(tmp_path / "lake"), "c", (str(source),)))
    assert len(rounds) == (1 if conversations == 1 else conversations + 1)
    assert "vectors" in rounds[-1]
    assert len({*rounds[0], *rounds[-1]}) == len(audit.sql_files("audits"))
