"""Seed steps: every unit of the conversation gets a score for every question, exactly, by one scorer."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from memlake.transforms.embed.outputs import Vectors
from memlake.transforms.retrieve.indexes.grid import GRID, on_grid
from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings
from memlake.transforms.retrieve.indexes.lexical_okapi import OkapiIndex
from memlake.transforms.retrieve.steps.search import Matrix, Search, needed
from memlake.transforms.retrieve.store.store import Store


@dataclass(frozen=True, slots=True)
class SeedDense:
    """Exact cosine of question and unit; NaN where either has no vector, 0 where a vector is all zeros."""

    stage: ClassVar[Literal["seed"]] = "seed"
    reads: ClassVar[frozenset[str]] = frozenset()
    output: ClassVar[str] = "dense"

    def apply(self, search: Search) -> Search:
        """Add the part 'dense'.

        Raises:
            UsageError: the store or the questions were not embedded.
        """
        asked, stored = needed(search, "seed_dense", self.output)
        assert asked.dense is not None
        assert stored.dense is not None
        return replace(search, parts={**search.parts, "dense": cosines(asked.dense, stored.dense)})


@dataclass(frozen=True, slots=True)
class SeedLexical:
    """BM25 of question and key_text over the units of the conversation.

    Attributes:
        language: 'other' has neither stop words nor a stemmer; so it is for every corpus that a study says is not English.
        copies: how often each key_text is counted; the published study counted the text of a chunk twice.
        formula: 'lucene' as bm25s has it; 'okapi' is rank_bm25's BM25Okapi, with words of its own whatever the language.
    """

    stage: ClassVar[Literal["seed"]] = "seed"
    reads: ClassVar[frozenset[str]] = frozenset()
    language: str = field(default="english", metadata={"allowed": ("english", "other")})
    k1: float = 1.5
    b: float = 0.75
    copies: int = field(default=1, metadata={"optional": True})
    formula: str = field(default="lucene", metadata={"allowed": ("lucene", "okapi"), "optional": True})

    def apply(self, search: Search) -> Search:
        """Add the part 'lexical'."""
        return replace(search, parts={**search.parts, "lexical": self._index(search.store).scores(search.texts)})

    def _index(self, store: Store) -> LexicalIndex | OkapiIndex:
        if self.formula == "okapi":
            key = ("okapi", self.k1, self.b, self.copies)
            return store.once(key, lambda: OkapiIndex.build(store.key_texts(self.copies), k1=self.k1, b=self.b))
        language = "other" if store.language == "other" else self.language
        return store.lexical_index(LexicalSettings(language=language, k1=self.k1, b=self.b), self.copies)


def cosines(questions: Vectors, units: Vectors) -> Matrix:
    """Cosine of every question and unit, shape (questions, units); the same bits on every run and machine."""
    asked, stored = on_grid(questions), on_grid(units)
    known_asked, known_stored = ~np.isnan(questions).any(axis=1), ~np.isnan(units).any(axis=1)
    cosine = (asked @ stored.T) / (GRID * GRID)
    cosine[~known_asked, :] = np.nan
    cosine[:, ~known_stored] = np.nan
    return cosine
