"""The exact top k of many questions among many vectors: one float32 product a block, candidates rescored on the grid.

A block of questions against a block of units is one matrix product, of which a compare with a running threshold keeps few
scores, so that the product is what takes the time. The float32 scores only choose candidates; what is handed on is the
cosine on the grid (see `grid`), which no block size, thread count or library moves by a bit.

How near a float32 score is to the cosine: a product of d dimensions is off by at most g = d * 2^-24 (any order of adding,
for rows of length 1), each of two rows that are taken as they are by at most 2^-17 + g / 2 for its length, and the grid
by sqrt(d) * 2^-26; `_error_bound` adds them up to e. If t is the k-th best float32 score so far, k units have a cosine of at
least t - e, so a unit that scores less than t - 2e - 2^-23 cannot even tie with them once cosines are rounded to float32.
All others stay: usually a few more than k (32 extra are plenty for random vectors of 1,024 dimensions), and as many as there
are where thousands tie. Nothing is cut off that might belong to the answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from memlake.transforms.base.arrays import GRID, Float32s, Floats, Ints, on_grid, runs
from memlake.transforms.base.errors import UsageError
from memlake.transforms.retrieve.indexes.best import Best
from memlake.transforms.retrieve.indexes.crew import Crew, crew_for

# Units whose largest score is looked at first: few enough that finding the large ones in it is cheap.
_GROUP = 16
# Units put on the grid at one time; and numbers of pairs multiplied at one time, which stay in a core's own cache.
_GRID_UNITS, _PAIR_NUMBERS = 128, 1 << 15
# Candidates of a stream that may be added before those that fell below are let go.
_HELD_AT_LEAST = 4096
# Rows whose squared length is this near to 1 are taken as they are.
_NEAR_UNIT = 2.0**-16


@dataclass(frozen=True, slots=True)
class TopK:
    """The best units of each question, best first.

    Attributes:
        index: shape (questions, k): positions of units, -1 where a question has fewer.
        score: shape (questions, k): cosines on the grid, rounded to float32; NaN where index is -1.
    """

    index: Ints
    score: Floats


@dataclass(frozen=True, slots=True)
class Pairs:
    """The best units of each question as rows: by question, best first.

    Attributes:
        question, unit: positions.
        score: cosines on the grid, rounded to float32.
    """

    question: Ints
    unit: Ints
    score: Float32s


def top_k(
    questions: Float32s,
    units: Float32s | Iterable[Float32s],
    k: int,
    *,
    at_least: float = -np.inf,
    block_units: int = 2048,
    block_questions: int = 1024,
) -> TopK:
    """The k units of the largest cosine for each question, by (cosine rounded to float32 descending, position ascending).

    Rows of zeros have cosine 0. A unit that holds NaN or infinity is never found, a question that does finds none.

    Args:
        questions: shape (m, d), of any length.
        units: shape (n, d), or an iterable of such blocks, which is read once for all questions; of a stream only the
            candidates are held, about m * k rows at most, twice that for a moment.
        at_least: units of which the rounded cosine is below this are left out.
        block_units, block_questions: rows of one product; 4 bytes a pair are held.

    Raises:
        UsageError: k is negative, or the vectors are not of one dimension.
    """
    found = top_pairs(questions, units, k, at_least=at_least, block_units=block_units, block_questions=block_questions)
    index, score = np.full((len(questions), k), -1), np.full((len(questions), k), np.nan)
    rank = runs(0, np.bincount(found.question, minlength=len(questions)))
    index[found.question, rank] = found.unit
    score[found.question, rank] = found.score
    return TopK(index, score)


def top_pairs(
    questions: Float32s,
    units: Float32s | Iterable[Float32s],
    k: int,
    *,
    at_least: float = -np.inf,
    block_units: int = 2048,
    block_questions: int = 1024,
) -> Pairs:
    """What `top_k` finds, as rows and no others: for a k as large as the units are many, and few above `at_least`."""
    if k < 0:
        raise UsageError(f"k={k}: a whole number of 0 or more is allowed", hint="ask for k of 1 or more")
    found = [Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    size = block_questions if isinstance(units, np.ndarray) else max(len(questions), 1)
    for first in range(0, len(questions) if k else 0, size):
        some = _search(questions[first : first + size], units, k, at_least, block_units)
        found.append(Pairs(some.question + first, some.unit, some.score))
    return Pairs(*(np.concatenate([getattr(pairs, name) for pairs in found]) for name in ("question", "unit", "score")))


def _search(
    questions: Float32s, units: Float32s | Iterable[Float32s], k: int, at_least: float, block_units: int
) -> Pairs:
    """The best of one block of questions."""
    error = _error_bound(questions.shape[1])
    band, floor = 2 * error + 2.0**-23, at_least - error - 2.0**-23
    asked, unknown = _unit_rows(questions)
    best = Best(len(questions), k, band=band, floor=floor)
    best.close(unknown)
    across = np.ascontiguousarray(asked.T)
    with crew_for(len(questions), len(units) if isinstance(units, np.ndarray) else None) as crew:
        # Each thread keeps what it finds; the thresholds that it finds it by are those of all.
        parts = [_Part(across, best.beside()) for _ in range(crew.parts)]
        take: Callable[[Ints], Float32s]
        if isinstance(units, np.ndarray):
            _see_all(crew, parts, 0, units, block_units)
            take = units.__getitem__
        else:
            take = _stream(crew, parts, units, block_units).take
        for part in parts:
            best.add(*part.best.candidates())
        question, unit, _ = best.candidates()
        score = _exact(crew, on_grid(questions), question, unit, take).astype(np.float32)
    high = np.flatnonzero(score >= at_least)
    # By question, best first, ties by position.
    order = high[np.lexsort((unit[high], -score[high], question[high]))]
    question = question[order]
    first = runs(0, np.bincount(question, minlength=len(questions))) < k
    return Pairs(question[first], unit[order[first]], score[order[first]])


def _see_all(crew: Crew, parts: list["_Part"], start: int, units: Float32s, block_units: int) -> Ints:
    """Let the threads look through units, a block whenever one is free; which became candidates, some more than once."""
    lows = iter(range(0, len(units), block_units))

    def work(part: _Part) -> list[Ints]:
        return [part.see(start + low, units[low : low + block_units]) + low for low in lows]

    found = list(chain.from_iterable(crew.map(work, parts)))
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _stream(crew: Crew, parts: list["_Part"], blocks: Iterable[Float32s], block_units: int) -> "_Kept":
    """Show all that comes to every part, and hold the vectors of the candidates among it."""
    kept = _Kept()
    start, added, held = 0, 0, 0
    for given in blocks:
        added += kept.add(start, given, _see_all(crew, parts, start, given, block_units))
        start += len(given)
        if added > max(held, _HELD_AT_LEAST):
            kept.prune(np.concatenate([part.best.candidates()[1] for part in parts]))
            added, held = 0, len(kept)
    return kept


class _Part:
    """What one thread does: products of all questions with some blocks of units, and what it finds in them."""

    def __init__(self, across: Float32s, best: Best) -> None:
        self._across, self.best = across, best
        self._room = np.empty((0, across.shape[1]), np.float32)

    def see(self, start: int, block: Float32s) -> Ints:
        """Look through a block of units; returns which of its rows became candidates, some more than once."""
        scores = self._product(block)
        best = self.best
        if best.wants_a_first_guess(len(block)):
            best.guess(scores[: len(block)])
        # In groups of units, by the largest score of each first: one pass at the speed of memory, with few hits.
        questions = scores.shape[1]
        groups = scores.reshape(-1, _GROUP, questions)
        group, question = np.divmod(np.flatnonzero(groups.max(axis=1) >= best.threshold), max(questions, 1))
        values = groups[group, :, question]
        row, lane = np.nonzero(values >= best.threshold[question, None])
        unit = group[row] * _GROUP + lane
        best.add(question[row], unit + start, values[row, lane])
        return unit

    def _product(self, block: Float32s) -> Float32s:
        """Float32 scores, shape (units rounded up to whole groups, questions); -inf for units without a vector."""
        wide = self._across.shape
        if block.shape[1] != wide[0]:
            raise UsageError(
                f"units have dimension={block.shape[1]}, questions dimension={wide[0]}: one and the same is allowed",
                hint="embed both by one embedder",
            )
        rows_in_groups = -(-len(block) // _GROUP) * _GROUP
        if len(self._room) < rows_in_groups:
            self._room = np.empty((rows_in_groups, wide[1]), np.float32)
        room = self._room[:rows_in_groups]
        rows, unknown = _unit_rows(block)
        np.matmul(rows, self._across, out=room[: len(rows)])
        room[len(rows) :] = -np.inf
        room[unknown] = -np.inf
        return room


def _error_bound(dimension: int) -> float:
    """How far a float32 score is from the cosine on the grid, at most; see the module."""
    product = (dimension + 4) * 2.0**-24
    return 1.01 * (2 * product + _NEAR_UNIT + 2.0**-22 + np.sqrt(dimension) * 2.0**-26)


def _unit_rows(vectors: Float32s) -> tuple[Float32s, Ints]:
    """Rows of length 1, the same array where all nearly are; and which rows hold NaN or infinity."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squared = np.einsum("ij,ij->i", vectors, vectors)
    odd = np.flatnonzero(~(np.abs(squared - 1) <= _NEAR_UNIT))
    if not len(odd):
        return vectors, odd
    rows = vectors[odd].astype(np.float64)
    finite = np.isfinite(rows).all(axis=1)
    rows[~finite] = 0
    norm = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    mended = np.array(vectors, np.float32, order="C")
    mended[odd] = rows / np.where(norm > 0, norm, 1.0)[:, None]
    return mended, odd[~finite]


class _Kept:
    """Vectors of a stream's candidates: all that is held of what has gone by."""

    def __init__(self) -> None:
        self._rows: list[Ints] = [np.empty(0, np.int64)]
        self._vectors: list[Float32s] = []

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def add(self, start: int, block: Float32s, units: Ints) -> int:
        """Hold some rows of a block; says how many."""
        units = np.unique(units)
        self._rows.append(units + start)
        self._vectors.append(block[units])
        return len(units)

    def prune(self, candidates: Ints) -> None:
        """Let go of those that have fallen below."""
        rows, vectors = np.concatenate(self._rows), np.concatenate(self._vectors)
        left = np.isin(rows, candidates)
        self._rows, self._vectors = [rows[left]], [vectors[left]]

    def take(self, rows: Ints) -> Float32s:
        """The vectors of some units."""
        if len(self._vectors) > 1:
            self.prune(np.concatenate(self._rows))
        return self._vectors[0][np.searchsorted(self._rows[-1], rows)]


def _exact(
    crew: Crew,
    asked: Floats,
    question: Ints,
    unit: Ints,
    take: Callable[[Ints], Float32s],
) -> Floats:
    """Cosines on the grid of some pairs; a unit is put on the grid once, however many questions it is a candidate of."""
    cosine = np.empty(len(unit))
    if not len(unit):
        return cosine
    distinct, place = np.unique(unit, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.arange(0, len(distinct), _GRID_UNITS)
    bounds = np.append(np.searchsorted(place[order], starts), len(order))
    take(distinct[:1])  # a stream's rows are put together once, before threads ask for them

    def fill(number: int) -> None:
        rows = on_grid(take(distinct[starts[number] : starts[number] + _GRID_UNITS]))
        pairs = order[bounds[number] : bounds[number + 1]]
        of_unit, of_question = place[pairs] - starts[number], question[pairs]
        # Whole numbers below 2^53: the sums are exact in any order, so that either way gives the same bits.
        if len(pairs) * 16 > len(rows) * len(asked):
            cosine[pairs] = (rows @ asked.T)[of_unit, of_question]
            return
        step = max(1, _PAIR_NUMBERS // asked.shape[1])
        for low in range(0, len(pairs), step):
            some = slice(low, low + step)
            cosine[pairs[some]] = np.vecdot(rows[of_unit[some]], asked[of_question[some]])

    for _ in crew.map(fill, range(len(starts))):
        pass
    return cosine / (GRID * GRID)
