"""BM25 over the units of one conversation: bm25s builds the index, one pass scores every question."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import bm25s
import numpy as np
import numpy.typing as npt
import Stemmer
from scipy import sparse

from memlake.transforms.retrieve.indexes.crew import crew_for
from memlake.transforms.text.unspaced import pieces

# bm25s sets its own logger to DEBUG when imported, and says a line for every index.
logging.getLogger("bm25s").setLevel(logging.WARNING)

Scores = npt.NDArray[np.float64]
# As bm25s has it, words of two signs and more; and single ones of scripts in which one sign may be a word.
_OTHER_WORD = r"(?u)\b\w\w+\b|[^\W\d_a-zA-Z]"
# Positions of units, -1 where there are fewer, and scores, shape (questions, k).
Top = tuple[npt.NDArray[np.int64], Scores]
_TOP_QUESTIONS = 32


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """How words are counted; k1 and b are those of bm25s. English has stop words and a stemmer, 'other' has neither."""

    language: str = "english"
    k1: float = 1.5
    b: float = 0.75


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """BM25 of every (word, unit) pair that occurs, as columns sorted by word.

    Attributes:
        vocabulary: word to its number.
        starts: shape (words + 1,): the pairs of word w are starts[w]:starts[w + 1].
        unit, weight: shape (pairs,): which unit, and what the word adds to its score.
        units: how many units there are.
    """

    settings: LexicalSettings
    vocabulary: dict[str, int]
    starts: npt.NDArray[np.int64]
    unit: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    units: int

    @classmethod
    def build(cls, texts: Sequence[str], settings: LexicalSettings) -> "LexicalIndex":
        """Index texts; texts without a word score 0 for every question."""
        words = _words(texts, settings)
        if not any(words):
            nothing = np.zeros(0, np.int64)
            return cls(settings, {}, np.zeros(1, np.int64), nothing, nothing.astype(np.float64), len(texts))
        index = bm25s.BM25(k1=settings.k1, b=settings.b)
        index.index(words, create_empty_token=False, show_progress=False)
        return cls(
            settings=settings,
            vocabulary=index.vocab_dict,
            starts=index.scores["indptr"].astype(np.int64),
            unit=index.scores["indices"].astype(np.int64),
            weight=index.scores["data"].astype(np.float64),
            units=len(texts),
        )

    def scores(self, questions: Sequence[str]) -> Scores:
        """BM25 of every question and unit, shape (questions, units).

        Each word of a question, repeats included, adds its weight in the order of the question, so that the sums are
        the same to the last bit whatever else is asked beside it.
        """
        numbers = [
            [self.vocabulary[word] for word in words if word in self.vocabulary]
            for words in _words(questions, self.settings)
        ]
        word = np.array([number for row in numbers for number in row], np.int64)
        question = np.repeat(np.arange(len(numbers)), [len(row) for row in numbers])
        count = self.starts[word + 1] - self.starts[word]
        # Position of every pair of every asked word: a run of consecutive numbers for each.
        pair = np.repeat(self.starts[word] - np.cumsum(count) + count, count) + np.arange(count.sum())
        cell = np.repeat(question, count) * self.units + self.unit[pair]
        total = np.bincount(cell, self.weight[pair], minlength=len(numbers) * self.units).astype(np.float64)
        return total.reshape(len(numbers), self.units)

    def top(self, questions: Sequence[str], k: int) -> Top:
        """The k best units of each question that share a word with it, over as many units as one likes.

        Scores have the bits of `scores`; only those of units that share a word are ever in memory. Rounded to float32
        they are ranked by, ties by position.
        """
        rows = _words(questions, self.settings)
        index, score = np.full((len(rows), k), -1), np.full((len(rows), k), np.nan)
        shape = (len(self.vocabulary), self.units)
        table = sparse.csr_matrix((self.weight, self.unit, self.starts), shape=shape) if k and shape[0] else None

        def fill(first: int) -> None:
            some = rows[first : first + _TOP_QUESTIONS]
            numbers = [[self.vocabulary[word] for word in words if word in self.vocabulary] for words in some]
            ends = np.cumsum([0, *map(len, numbers)])
            word = np.fromiter(chain.from_iterable(numbers), np.int64, ends[-1])
            # Rows keep their words' order and repeats, in which the product adds.
            asked = sparse.csr_matrix((np.ones(len(word)), word, ends), shape=(len(some), shape[0]))
            found = asked @ table
            for place in range(len(some)):
                mine = slice(*found.indptr[place : place + 2])
                unit, rounded = found.indices[mine], found.data[mine].astype(np.float32)
                if len(unit) > k:
                    high = np.flatnonzero(rounded >= np.partition(rounded, len(rounded) - k)[len(rounded) - k])
                    unit, rounded = unit[high], rounded[high]
                order = np.lexsort((unit, -rounded))[:k]
                index[first + place, : len(order)] = unit[order]
                score[first + place, : len(order)] = rounded[order]

        if table is not None:
            with crew_for(len(rows), self.units) as crew:
                for _ in crew.map(fill, range(0, len(rows), _TOP_QUESTIONS)):
                    pass
        return index, score


def _words(texts: Sequence[str], settings: LexicalSettings) -> list[list[str]]:
    english = settings.language == "english"
    words: list[list[str]] = bm25s.tokenize(
        list(texts) if english else [_spaced(text) for text in texts],
        **({} if english else {"token_pattern": _OTHER_WORD}),
        stopwords="english" if english else [],
        stemmer=Stemmer.Stemmer("english") if english else None,
        return_ids=False,
        show_progress=False,
    )
    return words


def _spaced(text: str) -> str:
    """The text with spaces between the words of scripts that write none."""
    return text if text.isascii() else " ".join(piece for word in text.split() for piece in pieces(word))
