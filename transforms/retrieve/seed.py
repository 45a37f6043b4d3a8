"""Seed steps: every unit of the conversation gets a score for every question, exactly, by one scorer."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from transforms.retrieve.grid import GRID, on_grid
from transforms.retrieve.lexical import LexicalSettings
from transforms.retrieve.outputs import Vectors
from transforms.retrieve.search import Matrix, Search, needed


@dataclass(frozen=True, slots=True)
class SeedDense:
    """Exact cosine of question and unit; NaN where either has no vector, 0 where a vector is all zeros."""

    stage: ClassVar[Literal["seed"]] = "seed"
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
    """BM25 of question and key_text over the units of the conversation."""

    stage: ClassVar[Literal["seed"]] = "seed"
    language: str = field(default="english", metadata={"allowed": ("english", "other")})
    k1: float = 1.5
    b: float = 0.75

    def apply(self, search: Search) -> Search:
        """Add the part 'lexical'."""
        index = search.store.lexical_index(LexicalSettings(language=self.language, k1=self.k1, b=self.b))
        return replace(search, parts={**search.parts, "lexical": index.scores(search.texts)})


def cosines(questions: Vectors, units: Vectors) -> Matrix:
    """Cosine of every question and unit, shape (questions, units); the same bits on every run and machine."""
    asked, stored = on_grid(questions), on_grid(units)
    known_asked, known_stored = ~np.isnan(questions).any(axis=1), ~np.isnan(units).any(axis=1)
    cosine = (asked @ stored.T) / (GRID * GRID)
    cosine[~known_asked, :] = np.nan
    cosine[:, ~known_stored] = np.nan
    return cosine
