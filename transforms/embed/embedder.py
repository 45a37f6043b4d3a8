"""What every embedder is: text to vectors, with what made them on record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from memlake.transforms.base.arrays import Float32s, Ints
from memlake.transforms.base.ids import content_id


@dataclass(frozen=True, slots=True)
class EmbedderCard:
    """What made a vector; stored in the Lance schema metadata and compared before vectors are mixed.

    Attributes:
        embedder: its short name, of which tables are named: `memlake.schemas.vectors.embedder_name`.
        model: whose weights: a hub id, or the name of a folder.
        revision: which: a pinned commit, or a digest of the folder's files, with what else decides the output.
        sparse: it also gives a weight to each token of a text.
        multi: dimension of the vectors that it gives to each token of a text; 0 for none.
    """

    embedder: str
    model: str
    revision: str
    dimension: int
    normalised: bool
    sparse: bool = False
    multi: int = 0

    @property
    def outputs(self) -> frozenset[str]:
        """What it gives: 'dense' always, 'sparse', 'multi'."""
        there = {"dense": True, "sparse": self.sparse, "multi": bool(self.multi)}
        return frozenset(name for name, given in there.items() if given)


@dataclass(frozen=True, slots=True)
class Ragged:
    """Several values a text: those of text i are values[offsets[i]:offsets[i + 1]].

    Attributes:
        offsets: shape (texts + 1,), int64.
        values: arrays of equal length along their first axis.
    """

    offsets: Ints
    values: tuple[npt.NDArray[Any], ...]

    def of(self, text: int) -> tuple[npt.NDArray[Any], ...]:
        """The values of one text."""
        return tuple(value[self.offsets[text] : self.offsets[text + 1]] for value in self.values)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a text has no vector; `passes` where asking again later may bring one."""

    reason: str
    detail: str = ""
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Encoded:
    """All that an embedder gives of some texts.

    Attributes:
        dense: shape (n, dimension).
        sparse: token ids, ascending (int32), and their weights, above 0 (float32).
        multi: vectors of tokens, shape (tokens, multi), float32.
        cut: text number to (tokens that the model saw, tokens that the text has), of texts over its longest input.
        failed: text number to why it has no vector; its row of `dense` means nothing.
    """

    dense: Float32s
    sparse: Ragged | None = None
    multi: Ragged | None = None
    cut: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    failed: Mapping[int, Failure] = field(default_factory=dict)


class Embedder(Protocol):
    """A loaded model; `embed` gives one row a text and never cuts a text silently."""

    card: EmbedderCard

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Vectors of shape (len(texts), dimension), float32; equal texts give equal rows whatever the batch."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """An embedder that has more to tell than vectors; its `embed` is the dense part of `encode`."""

    card: EmbedderCard

    def embed(self, texts: Sequence[str]) -> Float32s:
        """See Embedder."""
        ...

    def encode(self, texts: Sequence[str], *, questions: bool = False) -> Encoded:
        """All outputs of some texts; `questions` for models that embed questions otherwise than passages."""
        ...


def encode(embedder: Embedder, texts: Sequence[str], *, questions: bool = False) -> Encoded:
    """All that an embedder gives of some texts, one row a text in order."""
    if isinstance(embedder, Encoder):
        return embedder.encode(texts, questions=questions)
    return Encoded(embedder.embed(texts))


def ragged(pieces: Sequence[Sequence[npt.NDArray[Any]]], like: Sequence[npt.NDArray[Any]]) -> Ragged:
    """Ragged values from those of each text; `like` gives type and shape where there is no text."""
    sizes = [len(piece[0]) for piece in pieces]
    values = [np.concatenate([empty[:0], *(piece[place] for piece in pieces)]) for place, empty in enumerate(like)]
    return Ragged(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), tuple(values))


def fingerprint(card: EmbedderCard) -> str:
    """What makes vectors comparable: model, revision, dimension, normalisation, and what else stands beside them."""
    beside = [name for name, there in (("sparse", card.sparse), (f"multi={card.multi}", card.multi)) if there]
    return content_id(card.model, card.revision, card.dimension, str(card.normalised), *beside)
