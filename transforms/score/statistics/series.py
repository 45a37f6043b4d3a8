"""Scores as matrices: one row a series (a metric of a cell at a cutoff), one column a question, corpus by corpus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from memlake.transforms.base.arrays import Bools, Floats, Ints


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
