"""Seed steps: every unit of the conversation gets a score for every question, exactly, by one scorer."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from transforms.errors import UsageError
from transforms.retrieve.lexical import LexicalSettings
from transforms.retrieve.search import Matrix, Search
from transforms.retrieve.store import Vectors

# Unit vectors are rounded to this grid. Products are then whole numbers, and by Cauchy-Schwarz every partial sum stays
# below 2^53, so float64 adds them without any rounding: the matrix product is the same to the last bit for every
# library, number of threads and batch. The grid moves a cosine by about 1e-8, less than float32 can hold.
_GRID = 2.0**26


@dataclass(frozen=True, slots=True)
class SeedDense:
    """Exact cosine of question and unit; NaN where either has no vector, 0 where a vector is all zeros."""

    stage: ClassVar[Literal["seed"]] = "seed"

    def apply(self, search: Search) -> Search:
        """Add the part 'dense'.

        Raises:
            UsageError: the store or the questions were not embedded.
        """
        if search.vectors is None or search.store.vectors is None:
            raise UsageError(
                "step='seed_dense' needs vectors: "
                f"units {'have none' if search.store.vectors is None else 'have them'}, "
                f"questions {'have none' if search.vectors is None else 'have them'}",
                hint="memlake embed --embedder NAME, or leave the step out of the plan",
            )
        return replace(search, parts={**search.parts, "dense": cosines(search.vectors, search.store.vectors)})


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
    asked, stored = _on_grid(questions), _on_grid(units)
    known_asked, known_stored = ~np.isnan(questions).any(axis=1), ~np.isnan(units).any(axis=1)
    cosine = (asked @ stored.T) / (_GRID * _GRID)
    cosine[~known_asked, :] = np.nan
    cosine[:, ~known_stored] = np.nan
    return cosine


def _on_grid(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Unit vectors as whole multiples of 1 / _GRID, times _GRID; rows with NaN and rows of zeros become zeros."""
    # Dimension first: summing along it then adds one dimension after another, in an order that no SIMD width changes.
    columns = np.ascontiguousarray(np.nan_to_num(vectors, nan=0.0).T, dtype=np.float64)
    norm = np.sqrt(np.add.reduce(columns * columns, axis=0))
    columns /= np.where(norm > 0, norm, 1.0)
    return np.ascontiguousarray(np.rint(columns * _GRID).T)
