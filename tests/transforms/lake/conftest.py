"""A small lake, and shards staged by hand: what the committer sees without any pipeline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from memlake.schemas import CONVERSATIONS, TURNS, UNITS
from memlake.schemas.vectors import vectors_schema
from memlake.transforms.base.batch import PARTS_SEEN
from memlake.transforms.base.ids import content_id
from memlake.transforms.lake.commit.publish import PublishedSnapshot, publish_shards
from memlake.transforms.lake.stage.manifest import Manifest, put_manifest, staged_manifests, write_beside
from memlake.transforms.lake.storage.files import Stager
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.lake.storage.snapshot import Snapshot

VECTORS = vectors_schema(embedder="test", model="test", revision="1", dimension=4, normalised=True)

PARTS = ("turns", "units:turns", "vectors:turns__test")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(str(tmp_path / "lake"), create=True)


def no_audit(candidate: Snapshot, audited: pa.Table) -> Mapping[str, pa.Table]:
    del candidate, audited
    return {}


@dataclass(frozen=True)
class Shards:
    """Stage conversations given as {id: [texts]} and publish them."""

    lake: Lake

    def stage(self, shard: str, conversations: Mapping[str, list[str]], unchanged: Mapping[str, list[str]] = {}) -> str:
        stager = Stager(self.lake.root)
        parts = []
        for name, texts in conversations.items():
            digest = content_id(*texts)
            turns = [
                {
                    "corpus": "c", "conversation_id": name, "ordinal": i, "session_id": "s", "session_ordinal": 0,
                    "session_at": None, "session_label": None, "zone_known": False, "turn_id": str(i), "speaker": "A",
                    "role": "user", "kind": "message", "text": text, "source_chars": len(text), "said_at": None,
                    "char_start": 0, "char_end": 0,
                }
                for i, text in enumerate(texts)
            ]  # fmt: skip
            units = [
                {
                    "corpus": "c", "conversation_id": name, "representation": "turns",
                    "unit_id": content_id(name, i, text), "ordinal": i, "kind": "turn", "key_text": text,
                    "show_text": text, "header_chars": 0,
                }
                for i, text in enumerate(texts)
            ]  # fmt: skip
            row = {
                "corpus": "c", "conversation_id": name, "source_uri": shard, "format": "test", "sessions": 1,
                "turns": len(texts), "characters": 0, "content_hash": digest,
            }  # fmt: skip
            stager.write(CONVERSATIONS, CONVERSATIONS.rows([row]))
            stager.write(TURNS, TURNS.rows(turns))
            stager.write(UNITS, UNITS.rows(units))
            vectors = pa.table(
                {
                    "unit_id": [unit["unit_id"] for unit in units],
                    "corpus": ["c"] * len(units),
                    "conversation_id": [name] * len(units),
                    "key_text": texts,
                    "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.ones(4 * len(units), dtype=np.float32)), 4),
                },
                schema=VECTORS,
            )
            stager.write_vectors({"turns__test": vectors})
            parts.extend((name, part, content_id(part, digest), len(texts), True) for part in PARTS)
        for name, texts in unchanged.items():
            digest = content_id(*texts)
            parts.extend((name, part, content_id(part, digest), len(texts), False) for part in PARTS)
        files, fragments = stager.close()
        columns = list(zip(*parts, strict=True)) if parts else [[]] * 5
        beside = write_beside(self.lake.staged, pa.table([pa.array(c) for c in columns], schema=PARTS_SEEN), "parts")
        put_manifest(self.lake.staged, Manifest(shard, "c", tuple(files), tuple(fragments), (beside,), (), {}))
        return shard

    def publish(self, *shards: str, audit: Callable[..., Mapping[str, pa.Table]] = no_audit) -> PublishedSnapshot:
        manifests = staged_manifests(self.lake.staged, shards)
        return publish_shards(self.lake, manifests, corpus="c", run_id="r", operation="ingest", audit=audit)

    def contents(self, at: str = "latest") -> dict[str, list[str]]:
        """Conversation to texts, after checking that turns, units, parts and vectors agree and nothing is twice."""
        snapshot = self.lake.snapshot(at)
        turns = snapshot.read("turns").sort_by([("conversation_id", "ascending"), ("ordinal", "ascending")])
        found: dict[str, list[str]] = {}
        for row in turns.to_pylist():
            found.setdefault(row["conversation_id"], []).append(row["text"])
        keys = sorted(zip(turns["conversation_id"].to_pylist(), turns["text"].to_pylist(), strict=True))
        units = snapshot.read("units")
        assert sorted(zip(units["conversation_id"].to_pylist(), units["show_text"].to_pylist(), strict=True)) == keys
        dataset = snapshot.lance_table("turns__test")
        vectors = dataset.to_table() if dataset is not None else VECTORS.empty_table()
        assert sorted(zip(vectors["conversation_id"].to_pylist(), vectors["key_text"].to_pylist(), strict=True)) == keys
        parts = snapshot.read("parts")
        assert sorted(zip(parts["conversation_id"].to_pylist(), parts["part"].to_pylist(), strict=True)) == sorted(
            (name, part) for name in found for part in PARTS
        )
        assert sorted(snapshot.read("conversations")["conversation_id"].to_pylist()) == sorted(found)
        return found


@pytest.fixture
def shards(lake: Lake) -> Shards:
    return Shards(lake)
