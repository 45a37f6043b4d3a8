"""What a table is: the one description from which every store's schema, comment and page is made."""

import json
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

STRING = pa.string()
INT = pa.int64()
FLOAT = pa.float64()
BOOL = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")
STRINGS = pa.list_(pa.field("element", pa.string(), nullable=False))


def column(name: str, kind: pa.DataType, description: str, *, null: bool = False, later: bool = False) -> pa.Field:
    """Declare one column; `null=True` allows missing values, `later=True` files of before that do not have it at all."""
    metadata = {"description": description} | ({"later": "true"} if later else {})
    return pa.field(name, kind, nullable=null or later, metadata=metadata)


@dataclass(frozen=True)
class Table:
    """A table of the lake: grain sentence, key, columns, partitioning and version.

    Attributes:
        grain: completes the sentence 'one row is ...'.
        key: columns that identify a row; none of them is ever null.
        partition_by: the columns that name a hive folder; few values, aligned with queries.
        version: raised when columns change meaning; part of every manifest's name.
        journal: appended at once by whoever observes the event, never pinned by a snapshot.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[pa.Field, ...]
    partition_by: tuple[str, ...] = ()
    version: int = 1
    journal: bool = False

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, descriptions as field metadata."""
        return pa.schema(self.columns)

    @cached_property
    def stored_schema(self) -> pa.Schema:
        """The schema of one Parquet file: without the partition columns, which its path names."""
        return pa.schema([f for f in self.columns if f.name not in self.partition_by])

    @cached_property
    def has_later_columns(self) -> bool:
        """Whether older files may lack a column."""
        return any(b"later" in (field.metadata or {}) for field in self.columns)

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """Of each column the sentence that describes it."""
        return {field.name: field.metadata[b"description"].decode() for field in self.columns}

    def empty(self) -> pa.Table:
        """A table of no rows."""
        return self.schema.empty_table()

    def rows(self, rows: list[dict[str, object]]) -> pa.Table:
        """Rows held singly (a run, a cell, a snapshot) as an Arrow table; missing columns are null."""
        return pa.Table.from_pylist(rows, schema=self.schema)


def settings_json(settings: object) -> str:
    """The one text form of a settings mapping: sorted keys, no spaces, so that equal settings hash alike."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
