"""One conversation read twice in a run, in different versions: the one that holds all of the other's turns wins."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.lake.commit.resolve import MANIFEST
from memlake.transforms.lake.stage.manifest import Manifest
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.place import read_parquet
from memlake.transforms.lake.storage.snapshot import Snapshot

LOSERS = pa.schema(
    [
        MANIFEST,
        pa.field("conversation_id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
# What makes two turns the same turn, wherever in its conversation it stands.
_TURN = ["session_label", "speaker", "role", "kind", "text", "said_at"]


@dataclass(frozen=True, slots=True)
class VersionConflicts:
    """`losers` as LOSERS; `conflicts` are the conversations of which no version holds all of another's turns."""

    losers: pa.Table
    conflicts: tuple[str, ...]


def judge_conflicts(
    lake: Lake, base: Snapshot, corpus: str, manifests: Sequence[Manifest], versions: pa.Table
) -> VersionConflicts:
    """Choose among versions (manifest, conversation_id, content_hash, staged), as resolve.conflicting_versions gives them.

    Where no version wins, none lands: keeping either would lose turns without a word.
    """
    losers: list[dict[str, object]] = []
    conflicts: list[str] = []
    for conversation in pc.unique(versions["conversation_id"]).to_pylist():
        rows = versions.filter(pc.equal(versions["conversation_id"], conversation)).to_pylist()
        turns: dict[str, Counter[tuple[object, ...]]] = {}
        for row in rows:
            if row["content_hash"] not in turns:
                manifest = manifests[row["manifest"]] if row["staged"] else None
                turns[row["content_hash"]] = _turns(lake, base, corpus, conversation, manifest)
        whole = [version for version, held in turns.items() if all(held >= other for other in turns.values())]
        if not whole:
            conflicts.append(conversation)
        # What the lake holds already stays, or every run would swap one for the other.
        held = {row["content_hash"] for row in rows if not row["staged"]}
        winner = min(whole, key=lambda version: (version not in held, version), default=None)
        reason = "superseded_version" if whole else "conflicting_versions"
        losers.extend(
            {"manifest": row["manifest"], "conversation_id": conversation, "reason": reason}
            for row in rows
            if row["content_hash"] != winner
        )
    return VersionConflicts(pa.Table.from_pylist(losers, schema=LOSERS), tuple(conflicts))


def _turns(
    lake: Lake, base: Snapshot, corpus: str, conversation: str, manifest: Manifest | None
) -> Counter[tuple[object, ...]]:
    """The turns of one version as a multiset: a manifest's, or the base's when the version is already there."""
    if manifest is None:
        where = (pc.field("corpus") == corpus) & (pc.field("conversation_id") == conversation)
        rows = base.read("turns", columns=_TURN, where=where)
    else:
        files = [lake.table_path("turns") / file.path for file in manifest.files if file.table == "turns"]
        rows = read_parquet(files, columns=_TURN, where=pc.field("conversation_id") == conversation)
    return Counter(zip(*(rows[name].to_pylist() for name in _TURN), strict=True))
