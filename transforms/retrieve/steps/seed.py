"""Seed steps: every unit of the conversation gets a score for every question, exactly, by one scorer."""

from typing import ClassVar, Literal

import numpy as np

from memlake.transforms.base.arrays import GRID, Float32s, Floats, Ints, on_grid
from memlake.transforms.base.fields import Count, Number
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings, WordIndex
from memlake.transforms.retrieve.indexes.lexical_okapi import OkapiIndex
from memlake.transforms.retrieve.indexes.topk import top_k
from memlake.transforms.retrieve.steps.step import NO_COSINE, Leaders, Part, Scale, Search, Seed, later
from memlake.transforms.retrieve.store.store import Stock, StreamedStock


class SeedDense(Seed):
    """Exact cosine of question and unit; NaN where either has no vector, 0 where a vector is all zeros."""

    adds_up: ClassVar[bool] = True
    part: ClassVar[str] = "dense"
    scale: ClassVar[Scale] = "cosine"
    outputs: ClassVar[frozenset[str]] = frozenset({"dense"})
    step: Literal["seed_dense"]

    def score(self, search: Search) -> Floats:
        """See Seed.

        Raises:
            UsageError: the store or the questions were not embedded.
        """
        asked, stored = search.outputs(self.step, "dense")
        assert asked.dense is not None
        assert stored.dense is not None
        return cosines(asked.dense, stored.dense)

    def leaders(self, stock: StreamedStock, text: str, asked: Outputs | None, k: int) -> Leaders:  # noqa: ARG002 - no words
        """See Seed; vectors are read once, and only those of candidates are held."""
        assert asked is not None
        assert asked.dense is not None
        found = top_k(asked.dense, stock.vectors(), k)
        return _leaders(found.index[0], found.score[0], NO_COSINE, self.scale)


class SeedLexical(Seed):
    """BM25 of question and key_text over the units of the conversation.

    Attributes:
        language: 'other' has neither stop words nor a stemmer; so it is for every corpus that a study says is not English.
        copies: how often each key_text is counted; the published study counted the text of a chunk twice.
        formula: 'lucene' as bm25s has it; 'okapi' is rank_bm25's BM25Okapi, with words of its own whatever the language.
    """

    adds_up: ClassVar[bool] = True
    part: ClassVar[str] = "lexical"
    scale: ClassVar[Scale] = "words"
    step: Literal["seed_lexical"]
    language: Literal["english", "other"] = "english"
    k1: Number = 1.5
    b: Number = 0.75
    copies: Count = later(1)
    formula: Literal["lucene", "okapi"] = later("lucene")

    def score(self, search: Search) -> Floats:
        """See Seed."""
        return self._index(search.store).scores(search.texts)

    def leaders(self, stock: StreamedStock, text: str, asked: Outputs | None, k: int) -> Leaders:  # noqa: ARG002 - no vectors
        """See Seed."""
        units, scores = self._index(stock).top([text], k)
        return _leaders(units[0], scores[0], 0.0, self.scale)

    def _index(self, store: Stock) -> WordIndex:
        """The index of the units, made once."""
        language = "other" if store.language == "other" else self.language
        settings = LexicalSettings(language=language, k1=self.k1, b=self.b)

        def build() -> WordIndex:
            texts = ["\n".join([text] * self.copies) for text in store.key_texts()]
            if self.formula == "okapi":
                return OkapiIndex.build(texts, k1=self.k1, b=self.b)
            return LexicalIndex.build(texts, settings)

        return store.once((self.formula, settings, self.copies), build)


def _leaders(units: Ints, scores: Floats, lowest: float, scale: Scale) -> Leaders:
    """Of k places those that are filled; where some are not, every other unit has the lowest score."""
    filled = units >= 0
    largest, least = scores[filled][[0, -1]] if filled.any() else (lowest, lowest)
    whole = not filled.all()
    return Leaders(units[filled], Part(np.array([[largest, lowest if whole else least]]), scale), whole)


def cosines(questions: Float32s, units: Float32s) -> Floats:
    """Cosine of every question and unit, shape (questions, units); the same bits on every run and machine."""
    asked, stored = on_grid(questions), on_grid(units)
    known_asked, known_stored = ~np.isnan(questions).any(axis=1), ~np.isnan(units).any(axis=1)
    cosine = (asked @ stored.T) / (GRID * GRID)
    cosine[~known_asked, :] = np.nan
    cosine[:, ~known_stored] = np.nan
    return cosine
