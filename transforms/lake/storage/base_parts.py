"""What the lake already holds, asked for a few conversations at a time, so that memory does not grow with the lake."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import PARTS, TURNS
from memlake.transforms.base.batch import PARTS_SEEN, Held
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.lake.storage.parts import FORGOTTEN_PART
from memlake.transforms.lake.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class BaseParts:
    """The parts of one corpus in one snapshot; `snapshot_id` is '' for a lake that holds nothing yet."""

    lake: str
    snapshot_id: str
    corpus: str

    def parts(self, conversations: pa.Array) -> Held:
        """What the lake holds of some conversations."""
        if not self.snapshot_id:
            return {}
        where = (pc.field("corpus") == self.corpus) & pc.field("conversation_id").isin(conversations)
        rows = _snapshot(self.lake, self.snapshot_id).read("parts", columns=PARTS.schema.names[1:], where=where)
        names, parts, hashes, counts = (column.to_pylist() for column in rows.columns)
        return dict(zip(zip(names, parts, strict=True), zip(hashes, counts, strict=True), strict=True))

    def turns(self, conversations: pa.Array) -> pa.Table:
        """The rows of the table turns of some conversations, by (conversation_id, ordinal); those not held have none."""
        if not self.snapshot_id:
            return TURNS.empty()
        where = (pc.field("corpus") == self.corpus) & pc.field("conversation_id").isin(conversations)
        rows = _snapshot(self.lake, self.snapshot_id).read("turns", where=where)
        return rows.sort_by([("conversation_id", "ascending"), ("ordinal", "ascending")])

    def vectors(self, table: str, conversations: pa.Array) -> pa.Table:
        """unit_id and vector of some conversations' units, from a Lance table that the snapshot has."""
        stored = _snapshot(self.lake, self.snapshot_id).lance_table(table)
        if stored is None:
            raise ValueError(f"table={table!r}: not in snapshot={self.snapshot_id!r}")
        where = (pc.field("corpus") == self.corpus) & pc.field("conversation_id").isin(conversations)
        return stored.to_table(columns=["unit_id", "vector"], filter=where)


def seen(held: Held, part: str, hashes: Mapping[str, str], rows: Mapping[str, int]) -> pa.Table:
    """PARTS_SEEN of one part of several conversations: staged is where the lake holds another hash, or none.

    Parts of forgotten conversations are never staged: their text must not reach the disk again.

    Args:
        held: what the lake holds, from `BaseParts.parts`.
        hashes: conversation_id to the part's content hash as it is now.
        rows: conversation_id to its rows; one that is left out (nothing was made, since nothing changed) keeps its count.
    """
    counts = [rows.get(name, held.get((name, part), ("", 0))[1]) for name in hashes]
    missing = changed(held, part, hashes)
    staged = [name in missing for name in hashes]
    columns = [list(hashes), [part] * len(hashes), list(hashes.values()), counts, staged]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PARTS_SEEN, strict=True)]
    return pa.Table.from_arrays(arrays, schema=PARTS_SEEN)


def changed(held: Held, part: str, hashes: Mapping[str, str]) -> set[str]:
    """Conversations whose part the lake does not hold as it is now; forgotten ones count as held."""
    return {
        name
        for name, value in hashes.items()
        if held.get((name, part), ("",))[0] != value and (name, FORGOTTEN_PART.name) not in held
    }


def by_conversation(rows: pa.Table, column: str) -> dict[str, Any]:
    """A column's value of each conversation, of rows that are one a conversation."""
    return dict(zip(rows["conversation_id"].to_pylist(), rows[column].to_pylist(), strict=True))


def rows_by_conversation(rows: pa.Table) -> dict[str, int]:
    """How many rows each conversation has, in the order in which they come."""
    counted = rows.group_by("conversation_id", use_threads=False).aggregate([([], "count_all")])
    return by_conversation(counted, "count_all")


def only(rows: pa.Table, conversations: set[str]) -> pa.Table:
    """The rows of some conversations; the table itself when it holds no others."""
    if set(pc.unique(rows["conversation_id"]).to_pylist()) <= conversations:
        return rows
    return rows.filter(pc.is_in(rows["conversation_id"], value_set=pa.array(sorted(conversations), pa.string())))


@lru_cache(maxsize=4)
def _snapshot(lake: str, snapshot_id: str) -> Snapshot:
    return open_lake(lake).snapshot(snapshot_id)
