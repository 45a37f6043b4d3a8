"""BM25 over the units of one conversation: weights of words in units and one pass that adds them up; and as bm25s counts."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

import bm25s
import numpy as np
import Stemmer
from scipy import sparse

from memlake.transforms.base.arrays import Floats, Ints, runs
from memlake.transforms.retrieve.indexes.crew import crew_for
from memlake.transforms.text.content_tokens import pieces

# Positions of units, -1 where there are fewer, and scores, shape (questions, k).
Top = tuple[Ints, Floats]
_TOP_QUESTIONS = 32


@dataclass(frozen=True, slots=True)
class WordIndex(ABC):
    """The weight of every (word, unit) pair that occurs, as columns sorted by word.

    Attributes:
        vocabulary: word to its number.
        starts: shape (words + 1,): the pairs of word w are starts[w]:starts[w + 1].
        unit, weight: shape (pairs,): which unit, and what the word adds to its score.
        units: how many units there are.
    """

    vocabulary: dict[str, int]
    starts: Ints
    unit: Ints
    weight: Floats
    units: int

    @abstractmethod
    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text, as they were counted."""

    def taken(self, rows: Ints) -> Self:
        """The index of some units, in another order; words weigh what they weigh among all of them."""
        place = np.full(self.units, -1)
        place[rows] = np.arange(len(rows))
        unit = place[self.unit]
        kept = unit >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return replace(self, starts=starts, unit=unit[kept], weight=self.weight[kept], units=len(rows))

    def scores(self, questions: Sequence[str]) -> Floats:
        """BM25 of every question and unit, shape (questions, units).

        Each word of a question, repeats included, adds its weight in the order of the question, so that the sums are
        the same to the last bit whatever else is asked beside it.
        """
        word, ends = self._numbered(self.words(questions))
        question = np.repeat(np.arange(len(questions)), np.diff(ends))
        count = self.starts[word + 1] - self.starts[word]
        # Position of every pair of every asked word: a run of consecutive numbers for each.
        pair = runs(self.starts[word], count)
        cell = np.repeat(question, count) * self.units + self.unit[pair]
        total = np.bincount(cell, self.weight[pair], minlength=len(questions) * self.units).astype(np.float64)
        return total.reshape(len(questions), self.units)

    def top(self, questions: Sequence[str], k: int) -> Top:
        """The k best units of each question that share a word with it, over as many units as one likes.

        Scores have the bits of `scores`; only those of units that share a word are ever in memory. Rounded to float32
        they are ranked by, ties by position.
        """
        rows = self.words(questions)
        index, score = np.full((len(rows), k), -1), np.full((len(rows), k), np.nan)
        shape = (len(self.vocabulary), self.units)
        if not k or not shape[0]:
            return index, score
        table = sparse.csr_matrix((self.weight, self.unit, self.starts), shape=shape)

        def fill(first: int) -> None:
            # Rows keep their words' order and repeats, in which the product adds.
            word, ends = self._numbered(rows[first : first + _TOP_QUESTIONS])
            asked = sparse.csr_matrix((np.ones(len(word)), word, ends), shape=(len(ends) - 1, shape[0]))
            found = asked @ table
            for place in range(len(ends) - 1):
                mine = slice(*found.indptr[place : place + 2])
                unit, rounded = found.indices[mine], found.data[mine].astype(np.float32)
                if len(unit) > k:
                    high = np.flatnonzero(rounded >= np.partition(rounded, len(rounded) - k)[len(rounded) - k])
                    unit, rounded = unit[high], rounded[high]
                order = np.lexsort((unit, -rounded))[:k]
                index[first + place, : len(order)] = unit[order]
                score[first + place, : len(order)] = rounded[order]

        with crew_for(len(rows), self.units) as crew:
            for _ in crew.map(fill, range(0, len(rows), _TOP_QUESTIONS)):
                pass
        return index, score

    def _numbered(self, texts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """Numbers of the known words of some texts, one text's after another's, and where each text's end."""
        numbers = [[self.vocabulary[word] for word in words if word in self.vocabulary] for words in texts]
        ends = np.cumsum([0, *map(len, numbers)])
        return np.fromiter(chain.from_iterable(numbers), np.int64, ends[-1]), ends


# bm25s sets its own logger to DEBUG when imported, and says a line for every index.
logging.getLogger("bm25s").setLevel(logging.WARNING)

# As bm25s has it, words of two signs and more; and single ones of scripts in which one sign may be a word.
_OTHER_WORD = r"(?u)\b\w\w+\b|[^\W\d_a-zA-Z]"


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """How words are counted; k1 and b are those of bm25s. English has stop words and a stemmer, 'other' has neither."""

    language: str = "english"
    k1: float = 1.5
    b: float = 0.75

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text."""
        english = self.language == "english"
        words: list[list[str]] = bm25s.tokenize(
            list(texts) if english else [_spaced(text) for text in texts],
            **({} if english else {"token_pattern": _OTHER_WORD}),
            stopwords="english" if english else [],
            stemmer=Stemmer.Stemmer("english") if english else None,
            return_ids=False,
            show_progress=False,
        )
        return words


@dataclass(frozen=True, slots=True)
class LexicalIndex(WordIndex):
    """BM25 with the weights of bm25s."""

    settings: LexicalSettings

    @classmethod
    def build(cls, texts: Sequence[str], settings: LexicalSettings) -> "LexicalIndex":
        """Index texts; texts without a word score 0 for every question."""
        words = settings.words(texts)
        if not any(words):
            nothing = np.zeros(0, np.int64)
            return cls({}, np.zeros(1, np.int64), nothing, nothing.astype(np.float64), len(texts), settings)
        index = bm25s.BM25(k1=settings.k1, b=settings.b)
        index.index(words, create_empty_token=False, show_progress=False)
        return cls(
            vocabulary=index.vocab_dict,
            starts=index.scores["indptr"].astype(np.int64),
            unit=index.scores["indices"].astype(np.int64),
            weight=index.scores["data"].astype(np.float64),
            units=len(texts),
            settings=settings,
        )

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """See WordIndex."""
        return self.settings.words(texts)


def _spaced(text: str) -> str:
    """The text with spaces between the words of scripts that write none."""
    return text if text.isascii() else " ".join(piece for word in text.split() for piece in pieces(word))
