"""BM25 as bm25s counts it, with or without English stop words and stems."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import bm25s
import numpy as np
import Stemmer

from memlake.transforms.retrieve.indexes.words import WordIndex
from memlake.transforms.text.content_tokens import pieces

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
