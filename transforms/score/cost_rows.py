"""Rows of costs: sums of money over sums of what it bought, with intervals over conversations."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from memlake.transforms.base.arrays import Floats, Ints
from memlake.transforms.score.statistics.resampling import Weights, bootstrap_method, cluster_weights, ratio_intervals
from memlake.transforms.score.statistics.rows import NO_SCORES, NO_VARIANCE, ONE_CLUSTER, few_clusters, notes, row_of
from memlake.transforms.score.statistics.series import codes_of

NO_MODEL = "no_model: no model was asked"
PRICE_UNKNOWN = "price_unknown: no price, no tokens, or never sent from this lake"
SUPPLIED = "supplied: written elsewhere, at a cost that nobody noted"
NOTHING_CORRECT = "nothing_correct: no answer was judged correct"
NO_VERDICT = "no_verdict: questions without a verdict are neither right nor wrong, and excluded"
PART_UNKNOWN = "price_unknown: what could not be priced is excluded"


class AskedCorpus:
    """The conversations of a corpus that were asked about, and how they are drawn."""

    def __init__(self, conversations: list[str], seed: int) -> None:
        self.places = {name: place for place, name in enumerate(conversations)}
        self.weights: Weights = cluster_weights(len(conversations), seed)
        self.seed = seed

    def by_conversation(self, rows: pa.Table, column: Floats) -> Floats:
        """A column summed over the rows of each conversation."""
        codes, names = codes_of(rows["conversation_id"])
        of: Ints = np.array([self.places[name] for name in names], np.int64)[codes]
        return np.bincount(of, weights=column, minlength=len(self.places)).astype(np.float64)


def groups(table: pa.Table, columns: tuple[str, ...]) -> Iterator[tuple[dict[str, object], pa.Table]]:
    """The rows of each combination of some columns, in order."""
    if not table.num_rows:
        return
    keys = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    members: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(keys):
        members.setdefault(key, []).append(place)
    for key, places in members.items():
        fields = dict(zip(columns, key, strict=True))
        fields["cell_a"] = fields.pop("cell")
        yield fields, table.take(pa.array(places))


def mean_row(
    corpus: AskedCorpus, fields: dict[str, object], rows: pa.Table, column: str, statistic: str, *, note: str = ""
) -> dict[str, object]:
    """A mean over rows with its interval; rows without a number are excluded, and without any there is no mean."""
    number = rows[column].to_numpy().astype(np.float64)
    known = np.isfinite(number)
    if known.any() and not known.all():
        note = note or PART_UNKNOWN
    elif not known.any():
        note = note or PRICE_UNKNOWN
    sums = corpus.by_conversation(rows, np.where(known, number, 0.0))
    counts = corpus.by_conversation(rows, known.astype(np.float64))
    return ratio_row(corpus, fields, sums, counts, statistic, n=known.sum(), excluded=np.sum(~known), note=note)


def ratio_row(
    corpus: AskedCorpus,
    fields: dict[str, object],
    sums: Floats,
    counts: Floats,
    statistic: str,
    *,
    n: int,
    excluded: int,
    note: str = "",
    times: float = 1.0,
) -> dict[str, object]:
    """sum(sums) / sum(counts) times a number, with its interval over conversations."""
    low, high = (float(end[0]) for end in ratio_intervals(corpus.weights, sums[None, :], counts[None, :]))
    clusters = int(np.sum((counts > 0) | (sums > 0)))
    total = counts.sum()
    said = [note] if n else [note or NO_SCORES]
    if n:
        said.append(ONE_CLUSTER if clusters == 1 else few_clusters(clusters))
        said.append(NO_VARIANCE if clusters > 1 and total and np.isnan(low) else "")
    return row_of(
        **fields
        | {
            "statistic": statistic,
            "slice": "all",
            "n": n,
            "excluded_a": excluded,
            "clusters": clusters,
            "value": times * sums.sum() / total if total else None,
            "low": times * low,
            "high": times * high,
            "method": bootstrap_method(corpus.seed),
            "note": notes(*said),
        }
    )
