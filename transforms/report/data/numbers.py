"""A run's rows of `statistics`, found by what they are of. Nothing here computes a mean or an interval."""

from collections.abc import Mapping, Sequence
from typing import Any

from memlake.transforms.report.data.document import At, Number, Row
from memlake.transforms.study.study import Measure

_AT = ("metric", "cutoff_kind", "cutoff", "label_set", "judge")
_KEY = ("statistic", "corpus", "comparison", "cell_a", "cell_b", *_AT, "slice")
MISSING = "missing: the run's statistics hold no such row"


class Numbers:
    """Statistics of one run, by their key."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._found = {tuple(row[name] for name in _KEY): row for row in self.rows}

    def of(self, *statistics: str, every_slice: bool = False) -> list[Row]:
        """The rows of some statistics over all questions, or over every slice of them."""
        return [row for row in self.rows if row["statistic"] in statistics and (every_slice or row["slice"] == "all")]

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
            (statistic, corpus, comparison, cell_a, cell_b, *(getattr(at, name) for name in _AT), which)
        )


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
