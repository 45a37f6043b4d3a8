"""What is searched: as far as a seed needs to know, and the units of one conversation as columns, computed once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Float32s, Ints
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.outputs import Outputs, as_outputs, outputs_from
from memlake.transforms.retrieve.store.sources import Record, Sources, sources_of
from memlake.transforms.text.content_tokens import Language, content_tokens_of

T = TypeVar("T")
UNIT_TOKENS = pa.schema(
    [
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("representation", pa.string(), nullable=False),
        pa.field("conversation_id", pa.string(), nullable=False),
        pa.field("token", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Coded:
    """Distinct content tokens of some texts: vocabulary in code point order, offsets (texts + 1,), token numbers."""

    vocabulary: pa.StringArray
    offsets: Ints
    numbers: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Stock(ABC):
    """Units that are searched.

    Attributes:
        language: 'english' or 'other': how content tokens are stemmed.
        kept: what is made of them once, by what it is: indexes, costs, texts.
    """

    language: Language = "english"
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @abstractmethod
    def key_texts(self) -> list[str]:
        """What is searched of each unit."""

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made when first asked for under this key."""
        if key not in self.kept:
            self.kept[key] = make()
        made: T = self.kept[key]
        return made


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedStock(Stock):
    """Units of which nothing is held: both functions read them, in one and the same order.

    Attributes:
        texts: what is searched of each unit.
        vectors: blocks of vectors, shape (units, dimension), rows of NaN where a unit has none.
    """

    texts: Callable[[], list[str]]
    vectors: Callable[[], Iterable[Float32s]]

    def key_texts(self) -> list[str]:
        """See Stock."""
        return self.texts()


@dataclass(frozen=True, eq=False, kw_only=True)
class Store(Stock):
    """The units of one conversation, sorted by unit_id so that a stable sort breaks ties as the metrics ask.

    Attributes:
        units: rows of the units schema, of one conversation and one or more representations.
        vectors: what an embedder gave of the units, aligned with them. None: not embedded.
        beside: rows of other tables, of the conversation, by the table's name; turns by ordinal.
    """

    units: pa.Table
    vectors: Outputs | None = None
    beside: Mapping[str, pa.Table] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.units.num_rows

    def key_texts(self) -> list[str]:
        """See Stock."""
        texts: list[str] = self.units["key_text"].to_pylist()
        return texts

    @cached_property
    def sources(self) -> Sources:
        """The turns that each unit comes from.

        Raises:
            UsageError: its provenance was not read.
        """
        return sources_of(self.units["unit_id"], self.needed("provenance"))

    @cached_property
    def record(self) -> Record:
        """The conversation itself.

        Raises:
            UsageError: its turns were not read.
        """
        return Record(self.needed("turns").combine_chunks())

    def needed(self, table: str) -> pa.Table:
        """A table that a step reads beside units.

        Raises:
            UsageError: it was not read.
        """
        if table not in self.beside:
            raise UsageError(
                f"a step of the plan needs {table}, and the store was opened without: of one conversation they are allowed",
                hint="memlake study run STUDY reads them for every conversation",
            )
        return self.beside[table]

    @cached_property
    def content_tokens(self) -> Coded:
        """Distinct content tokens of each show_text."""
        return coded_tokens(self.units["show_text"], self.language)

    @cached_property
    def unit_tokens(self) -> pa.Table:
        """UNIT_TOKENS: every distinct content token that a representation keeps of this conversation."""
        coded = self.content_tokens
        unit = np.repeat(np.arange(len(self)), np.diff(coded.offsets))
        tokens = self.units.select(["corpus", "representation", "conversation_id"]).take(unit)
        tokens = tokens.append_column(UNIT_TOKENS.field("token"), coded.vocabulary.take(pa.array(coded.numbers)))
        return tokens.group_by(UNIT_TOKENS.names, use_threads=False).aggregate([]).cast(UNIT_TOKENS)


def coded_tokens(texts: pa.Array | pa.ChunkedArray, language: Language) -> Coded:
    """Distinct content tokens of each text."""
    lists = content_tokens_of(texts, language=language, distinct=True)
    coded = pc.dictionary_encode(lists.values)
    order = pc.sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    numbers = rank[coded.indices.to_numpy()] if len(order) else np.empty(0, np.int64)
    return Coded(coded.dictionary.take(pa.array(order)), lists.offsets.to_numpy().astype(np.int64), numbers)


def open_store(
    units: pa.Table,
    *,
    vectors: Float32s | Outputs | None = None,
    language: Language = "english",
    **beside: pa.Table,
) -> Store:
    """Sort the units of one conversation, and their vectors with them, by unit_id.

    Args:
        units: rows of the units schema; may be none.
        vectors: outputs of the units, aligned with them; or vectors alone, shape (units, dimension), rows of NaN where a
            unit has none.
        beside: rows of the conversation in other tables, by the table's name, for plans that read them; those of other
            units do no harm.

    Raises:
        UsageError: the units are of several conversations, or the vectors are not one a unit.
    """
    named = units.group_by(["corpus", "conversation_id"]).aggregate([])
    if named.num_rows > 1:
        raise UsageError(
            f"conversations={named.num_rows} in one store: units of exactly one conversation are allowed",
            hint="search one conversation at a time",
        )
    if vectors is not None and len(vectors) != units.num_rows:
        raise UsageError(
            f"vectors={len(vectors)} for units={units.num_rows}: one vector a unit is allowed",
            hint="align them with align_vectors",
        )
    order = pc.sort_indices(units, sort_keys=[("unit_id", "ascending"), ("representation", "ascending")])
    outputs = as_outputs(vectors)
    aligned = outputs.take(order.to_numpy().astype(np.int64)) if outputs is not None else None
    return Store(
        units=units.take(order).combine_chunks(),
        vectors=aligned,
        language=language,
        beside={name: rows.sort_by("ordinal") if name == "turns" else rows for name, rows in beside.items()},
    )


def align_vectors(units: pa.Table, stored: pa.Table) -> Outputs:
    """Outputs of the units from rows of Lance tables (unit_id and some of its columns of outputs), one a unit.

    Raises:
        NotFoundError: a unit has no row; it was never embedded.
    """
    return outputs_from(stored, embedded_rows(units["unit_id"], stored["unit_id"]))


def embedded_rows(unit_ids: pa.ChunkedArray, stored: pa.ChunkedArray) -> pa.Array:
    """Where among the unit_ids of a Lance table those of some units stand.

    Raises:
        NotFoundError: a unit has no row; it was never embedded.
    """
    rows = pc.index_in(unit_ids, value_set=stored).combine_chunks()
    if rows.null_count:
        missing = pc.filter(unit_ids, pc.is_null(rows))[0].as_py()
        raise NotFoundError(
            f"units={rows.null_count} of {len(unit_ids)} have no vector, the first is unit_id={missing}",
            hint="memlake embed --embedder NAME",
        )
    return rows
