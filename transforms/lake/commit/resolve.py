"""Decide, under the lock, what of the staged parts lands: compared with the base as it is now, not as it was."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import PARTS
from memlake.transforms.base.batch import PARTS_SEEN
from memlake.transforms.base.sql import sql_file
from memlake.transforms.lake.storage.parts import FORGOTTEN_PART, TURNS_PART, part_sources

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
