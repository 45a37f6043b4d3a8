"""Scores of a run as series by question, and the rows of the table statistics that are made of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from memlake.schemas import STATISTICS
from memlake.transforms.base.arrays import Bools, Floats, Ints

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
    """One row of STATISTICS; a column that is not given is '' or 0 or null.

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


def interval_note(clusters: int, low: float) -> str | None:
    """What there is to say of an interval over so many conversations; a lower end of NaN is none."""
    if clusters == 0:
        return NO_SCORES
    if clusters == 1:
        return ONE_CLUSTER
    return notes(few_clusters(clusters), NO_VARIANCE if np.isnan(low) else "")


def _number(value: object) -> float | None:
    if value is None or not isfinite(value):  # type: ignore[arg-type]
        return None
    # Not a negative zero either.
    return float(f"{value:.12g}") + 0.0


class Series(NamedTuple):
    """What is averaged over questions."""

    cell: str
    metric: str
    cutoff_kind: str
    cutoff: int
    label_set: str
    judge: str

    @property
    def columns(self) -> dict[str, object]:
        """The columns of STATISTICS that say which it is."""
        fields = self._asdict()
        return {"cell_a": fields.pop("cell"), **fields}


@dataclass(frozen=True)
class CorpusScores:
    """The scores of one corpus.

    Attributes:
        conversations: sorted; a cluster is a place in it.
        cluster_of: by question.
        values: shape (series, questions): mean over the repeats that were scored; NaN where none was.
        asked: whether there is a row at all.
        categories: by label set, the names that there are, and of each question the place of its own, -1 for none.
        repeated: of series with several repeats, shape (repeats, questions) each.
    """

    corpus: str
    series: list[Series]
    places: Mapping[Series, int]
    questions: list[str]
    conversations: list[str]
    cluster_of: Ints
    values: Floats
    asked: Bools
    categories: Mapping[str, tuple[list[str], Ints]]
    repeated: Mapping[int, Floats]

    def slices(self, label_set: str) -> list[tuple[str, Bools]]:
        """The slice of all questions, and one a category that has a name."""
        everyone = np.ones(len(self.questions), bool)
        if label_set not in self.categories:
            return [("all", everyone)]
        names, of = self.categories[label_set]
        return [("all", everyone), *((f"category={name}", of == place) for place, name in enumerate(names) if name)]

    def by_cluster(self, numbers: Floats | Bools, slices: list[tuple[str, Bools]]) -> Floats:
        """Sums of numbers over the questions of each conversation in each slice: shape (rows, slices, conversations)."""
        summed = [
            sparse.csr_array(
                (mask.astype(np.float64), (self.cluster_of, np.arange(len(self.questions)))),
                shape=(len(self.conversations), len(self.questions)),
            )
            @ numbers.T
            for _, mask in slices
        ]
        return np.ascontiguousarray(np.stack(summed).transpose(2, 0, 1), np.float64)


def corpora_of(scores: pa.Table, run_id: str) -> Iterator[CorpusScores]:
    """The run's scores, corpus by corpus in the order of their names; the order of rows makes no difference."""
    rows = _only(scores, "run_id", run_id)
    for corpus in sorted(pc.unique(rows["corpus"]).to_pylist()):
        yield _corpus(corpus, _only(rows, "corpus", corpus))


def _only(rows: pa.Table, column: str, value: str) -> pa.Table:
    """Rows of one value; the table itself, not a copy, when it has no other."""
    if pc.unique(rows[column]).to_pylist() == [value]:
        return rows
    return rows.filter(pc.field(column) == value)


def _corpus(corpus: str, rows: pa.Table) -> CorpusScores:
    series_of, series = _series(rows)
    question_of, questions = codes_of(rows["question_id"])
    conversation_of, conversations = codes_of(rows["conversation_id"])
    repeat_of, repeats = codes_of(rows["repeat"])
    place = series_of * len(questions) + question_of
    # In this order numbers are added, whatever the order of the rows.
    order = np.argsort(place * len(repeats) + repeat_of, kind="stable")
    cluster_of = np.zeros(len(questions), np.int64)
    cluster_of[question_of[order]] = conversation_of[order]
    place, repeat_of = place[order], repeat_of[order]
    value = rows["value"].to_numpy()[order].astype(np.float64)
    scored = np.isfinite(value)
    shape = (len(series), len(questions))
    size = shape[0] * shape[1]
    n = np.bincount(place[scored], minlength=size)
    total = np.bincount(place[scored], weights=value[scored], minlength=size)
    values = np.divide(total, n, out=np.full(size, np.nan), where=n > 0).reshape(shape)
    asked = (np.bincount(place, minlength=size) > 0).reshape(shape)
    return CorpusScores(
        corpus,
        series,
        {each: number for number, each in enumerate(series)},
        questions,
        conversations,
        cluster_of,
        values,
        asked,
        _categories(rows, series, series_of[order], question_of[order], order, len(questions)),
        _repeated(place, repeat_of, value, shape, len(repeats)),
    )


def _series(rows: pa.Table) -> tuple[Ints, list[Series]]:
    """The series of each row, and the series, sorted."""
    combined = np.zeros(rows.num_rows, np.int64)
    names = []
    for column in Series._fields:
        codes, values = codes_of(rows[column])
        combined = combined * max(len(values), 1) + codes
        names.append(values)
    # Combined numbers sort as the tuples do.
    kinds, which = np.unique(combined, return_inverse=True)
    parts: list[list[object]] = []
    for values in reversed(names):
        kinds, place = np.divmod(kinds, max(len(values), 1))
        parts.append([values[of] for of in place])
    return which.astype(np.int64), [Series(*fields) for fields in zip(*reversed(parts), strict=True)]


def codes_of(column: pa.ChunkedArray) -> tuple[Ints, list]:  # type: ignore[type-arg]
    """Each value's place among the distinct values, and these in order."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=lambda place: values[place])
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank[encoded.indices.to_numpy(zero_copy_only=False)], [values[place] for place in order]


def _categories(
    rows: pa.Table, series: list[Series], series_of: Ints, question_of: Ints, order: Ints, questions: int
) -> dict[str, tuple[list[str], Ints]]:
    category_of, names = codes_of(rows["category"])
    category_of = category_of[order]
    label_of = np.array([each.label_set for each in series], dtype=object)
    found = {}
    for label_set in sorted(set(label_of.tolist())):
        here = (label_of == label_set)[series_of]
        of = np.full(questions, -1, np.int64)
        of[question_of[here]] = category_of[here]
        present = np.unique(of[of >= 0])
        place = np.searchsorted(present, of)
        found[label_set] = ([names[category] for category in present], np.where(of >= 0, place, -1))
    return found


def _repeated(place: Ints, repeat_of: Ints, value: Floats, shape: tuple[int, int], repeats: int) -> dict[int, Floats]:
    """Values by repeat, of the series that have a second one."""
    again = np.unique(place[repeat_of > 0] // shape[1])
    found = {}
    for series in again.tolist():
        first, end = np.searchsorted(place, [series * shape[1], (series + 1) * shape[1]])
        matrix = np.full((repeats, shape[1]), np.nan)
        matrix[repeat_of[first:end], place[first:end] - series * shape[1]] = value[first:end]
        found[series] = matrix[np.isfinite(matrix).any(axis=1)]
    return found
