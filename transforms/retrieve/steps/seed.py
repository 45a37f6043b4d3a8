"""Seed steps: every unit of the conversation gets a score for every question, exactly, by one scorer."""

from typing import ClassVar, Literal

import numpy as np

from memlake.transforms.base.fields import Count, Number
from memlake.transforms.embed.outputs import Vectors
from memlake.transforms.retrieve.indexes.grid import GRID, on_grid
from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings
from memlake.transforms.retrieve.indexes.lexical_okapi import OkapiIndex
from memlake.transforms.retrieve.indexes.words import WordIndex
from memlake.transforms.retrieve.steps.search import Matrix, Scale, Search
from memlake.transforms.retrieve.steps.step import Seed, later
from memlake.transforms.retrieve.store.store import Store


class SeedDense(Seed):
    """Exact cosine of question and unit; NaN where either has no vector, 0 where a vector is all zeros."""

    part: ClassVar[str] = "dense"
    scale: ClassVar[Scale] = "cosine"
    outputs: ClassVar[frozenset[str]] = frozenset({"dense"})
    step: Literal["seed_dense"]

    def score(self, search: Search) -> Matrix:
        """See Seed.

        Raises:
            UsageError: the store or the questions were not embedded.
        """
        asked, stored = search.outputs(self.step, "dense")
        assert asked.dense is not None
        assert stored.dense is not None
        return cosines(asked.dense, stored.dense)


class SeedLexical(Seed):
    """BM25 of question and key_text over the units of the conversation.

    Attributes:
        language: 'other' has neither stop words nor a stemmer; so it is for every corpus that a study says is not English.
        copies: how often each key_text is counted; the published study counted the text of a chunk twice.
        formula: 'lucene' as bm25s has it; 'okapi' is rank_bm25's BM25Okapi, with words of its own whatever the language.
    """

    part: ClassVar[str] = "lexical"
    scale: ClassVar[Scale] = "words"
    step: Literal["seed_lexical"]
    language: Literal["english", "other"] = "english"
    k1: Number = 1.5
    b: Number = 0.75
    copies: Count = later(1)
    formula: Literal["lucene", "okapi"] = later("lucene")

    def score(self, search: Search) -> Matrix:
        """See Seed."""
        return self.index(search.store).scores(search.texts)

    def index(self, store: Store) -> WordIndex:
        """The index of the store's units, made once."""
        if self.formula == "okapi":
            key = ("okapi", self.k1, self.b, self.copies)
            return store.once(key, lambda: OkapiIndex.build(store.key_texts(self.copies), k1=self.k1, b=self.b))
        language = "other" if store.language == "other" else self.language
        settings = LexicalSettings(language=language, k1=self.k1, b=self.b)
        return store.once((settings, self.copies), lambda: LexicalIndex.build(store.key_texts(self.copies), settings))


def cosines(questions: Vectors, units: Vectors) -> Matrix:
    """Cosine of every question and unit, shape (questions, units); the same bits on every run and machine."""
    asked, stored = on_grid(questions), on_grid(units)
    known_asked, known_stored = ~np.isnan(questions).any(axis=1), ~np.isnan(units).any(axis=1)
    cosine = (asked @ stored.T) / (GRID * GRID)
    cosine[~known_asked, :] = np.nan
    cosine[:, ~known_stored] = np.nan
    return cosine
