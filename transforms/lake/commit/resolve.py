"""Decide, under the lock, what of the staged parts lands: compared with the base as it is now, not as it was.

Of one conversation that a run read in different versions, the version that holds all of the other's turns wins.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import PARTS
from memlake.transforms.base.batch import PARTS_SEEN
from memlake.transforms.base.sql import sql_file
from memlake.transforms.lake.stage.manifest import Manifest
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.parts import FORGOTTEN_PART, TURNS_PART, part_sources
from memlake.transforms.lake.storage.place import read_parquet
from memlake.transforms.lake.storage.snapshot import Snapshot

MANIFEST = pa.field("manifest", pa.int64(), nullable=False)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a commit does, part by part.

    Attributes:
        landed: manifest, conversation_id, part, content_hash, rows, replaces (bool): what becomes visible.
        removed: conversation_id, part, stale (bool): the base's parts that go; stale ones have no successor.
        dropped: manifest, conversation_id, part, reason: staged rows that must not land.
        outdated: manifests that left out what the base no longer has: their shards must be staged again.
        skipped: how many conversations had nothing new.
    """

    landed: pa.Table
    removed: pa.Table
    dropped: pa.Table
    outdated: tuple[int, ...]
    skipped: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return self.landed.num_rows == 0 and self.removed.num_rows == 0


def seen_parts(parts: Sequence[pa.Table]) -> pa.Table:
    """PARTS_SEEN of several manifests with the index of each."""
    numbered = [
        table.add_column(0, MANIFEST, pa.repeat(pa.scalar(index, pa.int64()), table.num_rows))
        for index, table in enumerate(parts)
    ]
    return pa.concat_tables(numbered) if numbered else PARTS_SEEN.insert(0, MANIFEST).empty_table()


def resolve(seen: pa.Table, base: pa.Table, losers: pa.Table) -> Resolution:
    """Compare what was staged with the base's parts of the same corpus.

    Args:
        seen: manifest + PARTS_SEEN of all manifests of the run.
        base: the PARTS rows of the corpus in the base snapshot.
        losers: manifest, conversation_id, reason: versions of a conversation that lost against another of this run.
    """
    with duckdb.connect() as connection:
        connection.register("seen", seen)
        connection.register("base", base.select(["conversation_id", "part", "content_hash", "rows"]))
        connection.register("losers", losers)
        connection.register("sources", part_sources(base["part"]))
        connection.register("forgotten", base.filter(pc.equal(base["part"], FORGOTTEN_PART.name)))
        connection.execute(sql_file("commit", "resolve").text)
        tables = {
            name: connection.table(name).to_arrow_table() for name in ("landed", "removed", "dropped", "outdated")
        }
        skipped = connection.table("skipped").fetchall()[0][0]
    return Resolution(
        landed=tables["landed"],
        removed=tables["removed"],
        dropped=tables["dropped"],
        outdated=tuple(tables["outdated"]["manifest"].to_pylist()),
        skipped=int(skipped),
    )


def conflicting_versions(seen: pa.Table) -> pa.Table:
    """Conversations of which the run read several versions: manifest, conversation_id, content_hash, staged."""
    with duckdb.connect() as connection:
        connection.register("turns_seen", seen.filter(pc.equal(seen["part"], TURNS_PART.name)))
        return connection.sql(
            """
            select manifest, conversation_id, content_hash, rows, staged
            from turns_seen
            qualify count(distinct content_hash) over (partition by conversation_id) > 1
            order by conversation_id, rows desc, content_hash, manifest
            """
        ).to_arrow_table()


def parts_rows(corpus: str, landed: pa.Table) -> pa.Table:
    """The PARTS rows of what landed."""
    rows = landed.select(["conversation_id", "part", "content_hash", "rows"])
    corpora = pa.repeat(pa.scalar(corpus, pa.string()), rows.num_rows)
    return rows.add_column(0, PARTS.schema.field("corpus"), corpora).cast(PARTS.schema)


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
        files = [file.path_in(lake.root) for file in manifest.files if file.table == "turns"]
        rows = read_parquet(files, columns=_TURN, where=pc.field("conversation_id") == conversation)
    return Counter(zip(*(rows[name].to_pylist() for name in _TURN), strict=True))
