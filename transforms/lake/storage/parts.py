"""Parts of a conversation, the unit of change: the table of their kinds, and which of them the lake already holds.

All else about kinds of parts follows from that table. The lake is asked for a few conversations at a time, so that memory
does not grow with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import PARTS, TURNS
from memlake.schemas.vectors import representation_of
from memlake.transforms.base.batch import PARTS_SEEN, Held
from memlake.transforms.base.ids import content_id
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.lake.storage.snapshot import Snapshot

_MARK = ":"


@dataclass(frozen=True, slots=True)
class PartKind:
    """A kind of part: what its parts are called, which rows they own, and with what they become stale.

    Attributes:
        name: what the name of each of its parts begins with.
        columns: the columns whose values follow in a part's name; only the last of them may hold a ':'.
        tables: Delta tables of which a part owns the conversation's rows that have its values. A row of which two kinds
            are owners lands with a part of either.
        follows: the kind of part that it is made from; where that part is replaced, it is no longer true.
    """

    name: str
    columns: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    follows: "PartKind | None" = None

    def named(self, *values: str) -> str:
        """The name of the part that has these values of `columns`."""
        return _MARK.join((self.name, *values))

    def values_of(self, part: str) -> tuple[str, ...]:
        """The values of `columns` in the name of one of its parts."""
        return tuple(part.split(_MARK, len(self.columns))[1:])

    def among(self, parts: pa.Table) -> pa.Table:
        """The rows of a table with a column `part` that are of this kind, with a column for each of `columns`."""
        start = self.named("") if self.columns else self.name
        matches = pc.starts_with if self.columns else pc.equal
        rows = parts.filter(matches(parts["part"], start))
        values = pc.split_pattern(rows["part"], _MARK, max_splits=len(self.columns))
        for place, column in enumerate(self.columns, start=1):
            rows = rows.append_column(column, pc.list_element(values, place))
        return rows


TURNS_PART = PartKind("turns", tables=("conversations", "turns"))
QUESTIONS_PART = PartKind("questions", ("label_set",), ("questions", "evidence"), TURNS_PART)
UNITS_PART = PartKind("units", ("representation",), ("units", "provenance", "links", "extractions"), TURNS_PART)
# Its rows stand in the Lance table that it names.
VECTORS_PART = PartKind("vectors", ("vector_table",), follows=UNITS_PART)
LINKS_PART = PartKind("links", ("representation", "relation"), ("links",), UNITS_PART)
# The tombstone of a conversation: it owns no rows, and nothing of the conversation lands beside it.
FORGOTTEN_PART = PartKind("forgotten")
PART_KINDS = (TURNS_PART, QUESTIONS_PART, UNITS_PART, VECTORS_PART, LINKS_PART, FORGOTTEN_PART)
_BY_NAME = {kind.name: kind for kind in PART_KINDS}


def kind_of_part(part: str) -> PartKind:
    """The kind of a part by its name."""
    return _BY_NAME[part.split(_MARK, 1)[0]]


def sources_of(part: str) -> tuple[str, ...]:
    """The parts of its conversation that a part is made from, the nearest first."""
    kind = kind_of_part(part)
    if kind.follows is None:
        return ()
    values = kind.values_of(part)
    if kind is VECTORS_PART:
        values = (representation_of(*values),)
    source = kind.follows.named(*values[: len(kind.follows.columns)])
    return (source, *sources_of(source))


def part_names(parts: pa.Array | pa.ChunkedArray) -> pa.Table:
    """What the names of parts say, for SQL: part, kind, and the value of each kind's columns, one row a name."""
    names = pa.table({"part": pc.unique(parts)})
    of_kinds = [kind.among(names) for kind in PART_KINDS]
    said = [
        rows.append_column("kind", pa.repeat(kind.name, rows.num_rows))
        for kind, rows in zip(PART_KINDS, of_kinds, strict=True)
    ]
    return pa.concat_tables(said, promote_options="default")


def part_sources(parts: pa.Array | pa.ChunkedArray) -> pa.Table:
    """What `sources_of` says of some parts, for SQL: part, source, one row a pair."""
    pairs = [(part, source) for part in pc.unique(parts).to_pylist() for source in sources_of(part)]
    return pa.table(
        {name: pa.array([pair[place] for pair in pairs], pa.string()) for place, name in enumerate(("part", "source"))}
    )


def owners_of(table: str) -> tuple[PartKind, ...]:
    """The kinds of part that own rows of a Delta table, the one of the most columns last."""
    return tuple(kind for kind in PART_KINDS if table in kind.tables)


def owned(table: str, rows: pa.Table, parts: pa.Table) -> pa.Table:
    """The rows of a Delta table that some parts own, each combination of values in their names by itself.

    Args:
        parts: conversation_id and part.
    """
    owners = owners_of(table)
    columns = list(owners[-1].columns)
    kept = [rows.slice(0, 0)]
    for values in rows.group_by(columns, use_threads=False).aggregate([]).to_pylist() if columns else [{}]:
        names = set().union(*(_having(parts, kind.named(*(values[name] for name in kind.columns))) for kind in owners))
        same = rows
        for name, value in values.items():
            same = same.filter(pc.equal(same[name], value))
        kept.append(only(same, names))
    return pa.concat_tables(kept)


def owned_vectors(table: str, rows: pa.Table, parts: pa.Table) -> pa.Table:
    """The rows of a Lance table that some parts own; as `owned`."""
    return only(rows, _having(parts, VECTORS_PART.named(table)))


def _having(parts: pa.Table, part: str) -> set[str]:
    return set(parts["conversation_id"].filter(pc.equal(parts["part"], part)).to_pylist())


def derived_part_hash(source_hash: str, made_by: str) -> str:
    """Content hash of a part that follows from another's content and a maker alone: no need to make it to know it.

    Units follow from turns and the settings of their representation, vectors from units and the fingerprint of the
    embedder, links from vectors and the settings of the linking.
    """
    return content_id(source_hash, made_by)


def unfinished_part_hash(whole_hash: str, requests: Sequence[str]) -> str:
    """Content hash of a part that lacks the replies to some requests: never what the next run looks for."""
    return content_id(whole_hash, "unfinished", *sorted(requests))


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
        rows = self._base().read("parts", columns=PARTS.schema.names[1:], where=self._of(conversations))
        names, parts, hashes, counts = (column.to_pylist() for column in rows.columns)
        return dict(zip(zip(names, parts, strict=True), zip(hashes, counts, strict=True), strict=True))

    def turns(self, conversations: pa.Array) -> pa.Table:
        """The rows of the table turns of some conversations, by (conversation_id, ordinal); those not held have none."""
        if not self.snapshot_id:
            return TURNS.empty()
        rows = self._base().read("turns", where=self._of(conversations))
        return rows.sort_by([("conversation_id", "ascending"), ("ordinal", "ascending")])

    def vectors(self, table: str, conversations: pa.Array) -> pa.Table:
        """unit_id and vector of some conversations' units, from a Lance table that the snapshot has."""
        stored = self._base().lance_table(table)
        if stored is None:
            raise ValueError(f"table={table!r}: not in snapshot={self.snapshot_id!r}")
        return stored.to_table(columns=["unit_id", "vector"], filter=self._of(conversations))

    def _base(self) -> Snapshot:
        return _snapshot(self.lake, self.snapshot_id)

    def _of(self, conversations: pa.Array) -> pc.Expression:
        return (pc.field("corpus") == self.corpus) & pc.field("conversation_id").isin(conversations)


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
