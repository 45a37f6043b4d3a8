"""Rows of statistics: what every row has in common, and how a number that is not there is written."""

from collections.abc import Iterable, Mapping
from math import isfinite

import pyarrow as pa

from memlake.schemas import STATISTICS

# Below so many conversations the percentile interval of a cluster bootstrap is known to be too short.
FEW_CLUSTERS = 20
# With fewer the smallest p that sign flips can give is above 0.001.
FEW_FLIPS = 11

NO_SCORES = "no_scores: no question was scored"
NO_CELL = "no_scores: one of the cells has no such score"
ONE_CLUSTER = "one_cluster: a single conversation gives no interval and no test"
NO_VARIANCE = "no_variance: every conversation has the same mean"
NOTHING_DISCORDANT = "nothing_discordant: both cells have the same questions right"
MAJORITY = "majority: a question is right where more than half of its repeats are"

_BLANK: dict[str, object] = {
    field.name: None if field.nullable else ("" if field.type == pa.string() else 0) for field in STATISTICS.columns
}
_WHOLE = {field.name for field in STATISTICS.columns if field.type == pa.int64()}
_NUMBERS = {field.name for field in STATISTICS.columns if field.type == pa.float64()}


def row_of(**fields: object) -> dict[str, object]:
    """One row; what is not given is '' or 0 or null.

    Floats get 12 significant digits, so that the order in which a machine adds does not show; what is no finite number
    is null.
    """
    row = _BLANK | fields
    for name in _NUMBERS:
        row[name] = _number(row[name])
    for name in _WHOLE:
        row[name] = None if row[name] is None else int(row[name])  # type: ignore[call-overload]
    return row


def table_of(rows: Iterable[Mapping[str, object]]) -> pa.Table:
    """The rows as a table in the order of the key."""
    table = STATISTICS.rows([dict(row) for row in rows])
    return table.sort_by([(name, "ascending") for name in STATISTICS.key])


def notes(*said: str) -> str | None:
    """Notes joined by '; '; None when there is nothing to say."""
    return "; ".join(filter(None, said)) or None


def few_clusters(clusters: int, *, flips: int | None = None) -> str:
    """The note on too few conversations, '' when there are enough.

    Args:
        flips: conversations whose differences are not 0, when signs were flipped: two of 2^flips are the most extreme.
    """
    said = []
    if 1 < clusters < FEW_CLUSTERS:
        said.append(f"few_clusters: {clusters} conversations, so the interval is too short")
    if flips is not None and clusters > 1 and flips < FEW_FLIPS:
        said.append(f"in {flips} conversations the two differ, so p cannot be below {min(2.0 ** (1 - flips), 1.0):.2g}")
    return "; ".join(said)


def _number(value: object) -> float | None:
    if value is None or not isfinite(value):  # type: ignore[arg-type]
        return None
    # Not a negative zero either.
    return float(f"{value:.12g}") + 0.0
