"""The best scores so far of many questions, and the threshold that a score must reach to matter."""

import numpy as np
import numpy.typing as npt

from memlake.transforms.base.arrays import Float32s, Ints, runs

# Below every score, above the -inf of what is no score.
NOTHING_YET = -4.0
_FIRST_WIDTH = 4096


class Best:
    """Candidates of each question: every one whose score is within `band` of its k-th best.

    Attributes:
        threshold: shape (questions,), float32: a score below it is of no use. It only rises.
    """

    def __init__(self, questions: int, k: int, *, band: float, floor: float, threshold: Float32s | None = None) -> None:
        self._k, self._band, self._floor = k, band, floor
        if threshold is None:
            threshold = np.full(questions, _below(max(floor, NOTHING_YET)), np.float32)
        self.threshold = threshold
        self._guessed = False
        width = min(2 * k + 32, _FIRST_WIDTH)
        self._score = np.full((questions, width), -np.inf, np.float32)
        self._unit = np.zeros((questions, width), np.int64)
        self._count = np.zeros(questions, np.int64)
        self._added = 0

    def beside(self) -> "Best":
        """Room for what another thread finds, under the same thresholds: what one has seen enough of, none need add.

        Where two raise a threshold at the same moment the lower may stay; it holds nothing back that it should not.
        """
        return Best(len(self._count), self._k, band=self._band, floor=self._floor, threshold=self.threshold)

    def close(self, questions: Ints) -> None:
        """Let some questions find nothing."""
        self.threshold[questions] = np.inf

    def wants_a_first_guess(self, units: int) -> bool:
        """Whether a first block of so many units gives a threshold."""
        return not self._guessed and units >= self._k

    def guess(self, scores: Float32s) -> None:
        """Set the threshold from a whole block, shape (units, questions): cheaper than adding all of it."""
        self._guessed = True
        self._raise(np.partition(scores, len(scores) - self._k, axis=0)[-self._k])

    def add(self, question: Ints, unit: Ints, score: Float32s) -> None:
        """Add candidates that reach the threshold."""
        new = np.bincount(question, minlength=len(self._count))
        self._added += len(question)
        # Looking for the k-th best costs about as much as adding a quarter of what is held.
        if 2 * self._added > len(self._count) * self._k or (self._count + new).max(initial=0) > self._score.shape[1]:
            self._tidy()
            high = score >= self.threshold[question]
            question, unit, score = question[high], unit[high], score[high]
            new = np.bincount(question, minlength=len(self._count))
        self._widen(int((self._count + new).max(initial=0)))
        order = np.argsort(question, kind="stable")
        question = question[order]
        place = runs(0, new) + self._count[question]
        self._score[question, place] = score[order]
        self._unit[question, place] = unit[order]
        self._count += new

    def candidates(self) -> tuple[Ints, Ints, Float32s]:
        """Question, unit and score of everything that may still belong to a top k, by question."""
        self._tidy()
        question, place = np.nonzero(self._score >= self.threshold[:, None])
        return question, self._unit[question, place], self._score[question, place]

    def _raise(self, kth: Float32s) -> None:
        np.maximum(self.threshold, _below(kth.astype(np.float64) - self._band), out=self.threshold)

    def _tidy(self) -> None:
        """Raise the threshold to what is held, and close the gaps."""
        self._added = 0
        width = self._score.shape[1]
        if width >= self._k:
            self._raise(np.partition(self._score, width - self._k, axis=1)[:, width - self._k])
        question, place = np.nonzero(self._score >= self.threshold[:, None])
        score, unit = self._score[question, place], self._unit[question, place]
        self._count = np.bincount(question, minlength=len(self._count))
        place = runs(0, self._count)
        self._score.fill(-np.inf)
        self._score[question, place] = score
        self._unit[question, place] = unit

    def _widen(self, width: int) -> None:
        more = width - self._score.shape[1]
        if more > 0:
            # By half as much again: thousands of ties arrive block by block.
            more = max(more, self._score.shape[1] // 2)
            self._score = np.pad(self._score, ((0, 0), (0, more)), constant_values=-np.inf)
            self._unit = np.pad(self._unit, ((0, 0), (0, more)))


def _below(values: npt.ArrayLike) -> Float32s:
    """The nearest float32 below some float64 values, so that rounding never raises a threshold."""
    return np.nextafter(np.asarray(values, np.float64).astype(np.float32), np.float32(-np.inf))
