"""The units of a representation in a corpus, as a search for one text reads them: whole only those that are chosen."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Bools, Float32s, Ints
from memlake.transforms.embed.outputs import columns_of, dense_rows
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.retrieve.indexes.lexical import WordIndex
from memlake.transforms.retrieve.store.store import Store, StreamedStock, align_vectors, embedded_rows, open_store


@dataclass(frozen=True, eq=False)
class StoredUnits:
    """Units of one corpus; their positions are those of `ids`.

    Attributes:
        where: which rows of units, and of the vectors' table, they are; the latter has one representation.
        vectors: the table with their vectors. None: no plan needs them.
        needs: which outputs are read of it.
    """

    snapshot: Snapshot
    representation: str
    where: pc.Expression
    vectors: lance.LanceDataset | None = None
    needs: frozenset[str] = frozenset()

    @cached_property
    def keys(self) -> pa.Table:
        """unit_id and conversation_id of each, in the order of the vectors' table where there is one.

        Raises:
            NotFoundError: a unit was never embedded.
        """
        keys = self._read(["unit_id", "conversation_id"])
        if self.vectors is None:
            return keys
        return keys.take(pc.sort_indices(embedded_rows(keys["unit_id"], self._embedded)))

    @cached_property
    def first(self) -> Ints:
        """All positions, by unit_id."""
        return np.asarray(pc.sort_indices(self.keys["unit_id"]).to_numpy(), np.int64)

    @cached_property
    def stock(self) -> StreamedStock:
        """The units as seeds look for the best of them; what they make of all of them is kept."""
        return StreamedStock(texts=self._texts, vectors=self._blocks)

    def store(self, chosen: Ints) -> tuple[Store, pa.Table]:
        """Some of the units by unit_id, as a store and as rows; words weigh what they weigh among all that are here.

        Units of all conversations are of one there, whose name is '': nobody has said which is asked about.
        """
        rows = self.first[np.isin(self.first, chosen)]
        where = self.where
        if len(rows) < self.keys.num_rows:
            where &= pc.field("unit_id").isin(self.keys["unit_id"].take(pa.array(rows)).combine_chunks())
        units = self._read(None, where).sort_by("unit_id")
        vectors = None
        if self.vectors is not None:
            vectors = align_vectors(units, self.vectors.to_table(columns=columns_of(self.needs), filter=where))
        place = units.schema.get_field_index("conversation_id")
        alike = units.set_column(place, units.schema.field(place), pa.repeat("", units.num_rows))
        indexes: Mapping[Hashable, WordIndex] = self.stock.kept
        kept = {key: index.taken(rows) for key, index in indexes.items()}
        return replace(open_store(alike, vectors=vectors), kept=kept), units

    @cached_property
    def _embedded(self) -> pa.ChunkedArray:
        assert self.vectors is not None
        return self.vectors.to_table(columns=["unit_id"], filter=self.where, scan_in_order=True)["unit_id"]

    @cached_property
    def _there(self) -> Bools:
        """Which rows of the vectors' table are units that are here."""
        there = pc.is_in(self._embedded, value_set=self.keys["unit_id"]).to_numpy()
        return np.asarray(there, np.bool_)

    def _read(self, columns: list[str] | None, where: pc.Expression | None = None) -> pa.Table:
        mine = pc.field("representation") == self.representation
        return self.snapshot.read("units", columns=columns, where=mine & (self.where if where is None else where))

    def _texts(self) -> list[str]:
        rows = self._read(["unit_id", "key_text"])
        texts: list[str] = rows["key_text"].take(pc.index_in(self.keys["unit_id"], rows["unit_id"])).to_pylist()
        return texts

    def _blocks(self) -> Iterator[Float32s]:
        assert self.vectors is not None
        start = 0
        for batch in self.vectors.to_batches(columns=["vector"], filter=self.where, scan_in_order=True):
            yield dense_rows(batch["vector"])[self._there[start : start + len(batch)]]
            start += len(batch)
