"""What every embedder is: text to vectors, with what made them on record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class EmbedderCard:
    """What made a vector; stored in the Lance schema metadata and compared before vectors are mixed."""

    embedder: str
    model: str
    revision: str
    dimension: int
    normalised: bool


class Embedder(Protocol):
    """A loaded model; `embed` gives one row a text and never cuts a text silently."""

    card: EmbedderCard

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), float32; equal texts give bit-equal rows whatever the batch."""
        ...
