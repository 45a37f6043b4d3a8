"""Statistics of a Parquet file for the log of its Delta table: bounds of every column, or readers take it for null.

deltalake turns what the log says of a file into a guarantee of the file's dataset, and a column without bounds beside one
that has some into one that is null throughout: a filter on it then finds nothing.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from memlake.transforms.lake.storage.place import open_parquet

# In a file's own metadata: how many nulls each long text has, of which Parquet keeps no statistics.
NULLS_OF_TEXTS = "memlake.nulls_of_texts"
# The one string whose own bounds are in the log: files are chosen by it. Other strings are between the least and the
# greatest there is, since a log outlives what it tells of: what was forgotten shall not be read in it.
_BOUNDED_STRING = "conversation_id"
_LEAST, _GREATEST = "", "\U0010ffff" * 32
_MILLISECOND = timedelta(milliseconds=1)
_LARGEST = float.fromhex("0x1.fffffep+127")  # of float32, which is also a float64


def statistics_of(path: Path) -> str:
    """What the log says of a file, as JSON: its rows, and of each column bounds and how many nulls it has.

    Bounds hold and need not be met: those of strings are as wide as strings go (all but conversation_id's), times are
    rounded to milliseconds, outwards; those of floats are the largest. Lists, structs and maps have none.
    """
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    with open_parquet(path) as opened:
        metadata = opened.metadata
        nulls: dict[str, int] = json.loads((metadata.metadata or {}).get(NULLS_OF_TEXTS.encode(), b"{}"))
        place = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
        for field in opened.schema_arrow:
            if pa.types.is_nested(field.type):
                continue
            groups = [metadata.row_group(number).column(place[field.name]) for number in range(metadata.num_row_groups)]
            statistics = [group.statistics for group in groups]
            if all(part is not None and part.has_null_count for part in statistics):
                nulls[field.name] = sum(part.null_count for part in statistics)
            elif field.name not in nulls:  # a text in a file of an earlier version
                nulls[field.name] = opened.read([field.name])[field.name].null_count if field.nullable else 0
            if nulls[field.name] < metadata.num_rows:
                low[field.name], high[field.name] = _bounds(field, statistics)
    found = {"numRecords": metadata.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    return json.dumps(found, ensure_ascii=False)


def _bounds(field: pa.Field, statistics: list[pq.Statistics | None]) -> tuple[Any, Any]:
    if pa.types.is_boolean(field.type):
        return False, True
    if pa.types.is_floating(field.type):
        return -_LARGEST, _LARGEST  # a NaN is between no bounds, so Parquet keeps none of a row group with one
    known = [part for part in statistics if part is not None and part.has_min_max]  # a row group of nulls has none
    if pa.types.is_string(field.type) and (field.name != _BOUNDED_STRING or len(known) < len(statistics)):
        return _LEAST, _GREATEST  # Parquet keeps no bounds of a row group with a string of some kilobytes
    low, high = min(part.min for part in known), max(part.max for part in known)
    if pa.types.is_timestamp(field.type):
        return _milliseconds(low), _milliseconds(high + _MILLISECOND)
    return low, high


def _milliseconds(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def are_complete(schema: pa.Schema, logged: Mapping[str, Mapping[str, object] | None]) -> bool:
    """Whether the log's statistics of a file leave no column out: files of before have some of conversation_id alone.

    Args:
        schema: the table's.
        logged: an add action of `DeltaTable.get_add_actions`: its `partition`, `min` and `null_count`.
    """
    low, nulls = logged.get("min") or {}, logged.get("null_count") or {}
    partition = logged.get("partition") or {}
    return all(
        low.get(field.name) is not None or nulls.get(field.name) is not None
        for field in schema
        if not pa.types.is_nested(field.type) and field.name not in partition
    )
