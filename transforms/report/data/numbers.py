"""A run's rows of `statistics`, found by what they are of. Nothing here computes a mean or an interval."""

from collections.abc import Mapping, Sequence
from typing import Any

from memlake.transforms.report.data.document import At, Number, Row
from memlake.transforms.study.study import Measure

MISSING = "missing: the run's statistics hold no such row"


class Numbers:
    """Statistics of one run, by their key."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._found = {_key(row): row for row in self.rows}

    def of(self, *statistics: str) -> list[Row]:
        """The rows of some statistics."""
        return [row for row in self.rows if row["statistic"] in statistics]

    def find(
        self,
        statistic: str,
        corpus: str,
        at: Measure,
        cell_a: str,
        *,
        cell_b: str = "",
        comparison: str = "",
        which: str = "all",
    ) -> Row | None:
        """One row; None where the run has none."""
        return self._found.get(
            (
                statistic, corpus, comparison, cell_a, cell_b, at.metric, at.cutoff_kind, at.cutoff, at.label_set, at.judge,
                which,
            )
        )  # fmt: skip


def number(row: Mapping[str, Any] | None) -> Number:
    """A row as a number; where there is none, a number without a value that says so."""
    if row is None:
        return Number(value=None, low=None, high=None, n=0, excluded=0, clusters=0, note=MISSING)
    return Number(
        value=row["value"],
        low=row["low"],
        high=row["high"],
        n=row["n"],
        excluded=row["excluded_a"],
        clusters=row["clusters"],
        note=row["note"],
    )


def at_of(measure: Measure) -> At:
    """A measure as the document writes it."""
    return At(
        metric=measure.metric,
        cutoff_kind=measure.cutoff_kind,
        cutoff=measure.cutoff,
        label_set=measure.label_set,
        judge=measure.judge,
    )


def _key(row: Row) -> tuple[object, ...]:
    names = (
        "statistic", "corpus", "comparison", "cell_a", "cell_b", "metric", "cutoff_kind", "cutoff", "label_set", "judge",
        "slice",
    )  # fmt: skip
    return tuple(row[name] for name in names)
