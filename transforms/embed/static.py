"""static: wordllama's l2_supercat vectors, 256 dimensions, offline, from the files inside its wheel.

A vector is the mean of its tokens' rows, divided by its length. wordllama's own `embed` pads every text of a batch to the
longest; this sums each text alone, in the same order, so a row depends on its text only and equals wordllama's.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from memlake.transforms.base.arrays import Float32s
from memlake.transforms.embed.embedder import EmbedderCard
from memlake.transforms.text.word_tokens import TOKENIZER, WordTokens, wheel_file

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_DIMENSION = 256
# Raised when this module's output changes for the same files.
_REVISION = 1
# Rows summed at a time: a megabyte, whatever the length of a text.
_BLOCK = 1024


class StaticEmbedder:
    """Mean of static token vectors, normalised. A text without tokens gets a zero vector, which the check rejects."""

    def __init__(self, tokenizer: Any, matrix: Float32s, revision: str) -> None:
        self.card = EmbedderCard("static", "wordllama-l2_supercat-256", revision, _DIMENSION, normalised=True)
        self._tokens = WordTokens(tokenizer)
        self._matrix = matrix

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Vectors of shape (len(texts), 256), float32, of length 1; equal texts give bit-equal rows."""
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        rows = np.empty((_BLOCK + 1, _DIMENSION), np.float32)
        for text, vector in zip(texts, vectors, strict=True):
            ids = self._tokens.of(text)
            for first in range(0, len(ids), _BLOCK):
                block = ids[first : first + _BLOCK]
                # The sum so far goes first: one running sum, as if the text had been summed at once.
                rows[0] = vector
                np.take(self._matrix, block, axis=0, out=rows[1 : len(block) + 1], mode="clip")
                np.add.reduce(rows[: len(block) + 1], axis=0, out=vector)
            vector /= max(len(ids), 1)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, length, out=vectors, where=length > 0)


def load_static() -> StaticEmbedder:
    """Load the model from the installed wheel; opens no connection and does not import wordllama.

    Raises:
        NotFoundError: the wheel, or a file that it should hold, is not installed.
    """
    # Imported here: commands that embed nothing should not wait for them.
    from safetensors.numpy import load
    from tokenizers import Tokenizer

    tokenizer, weights = wheel_file(TOKENIZER), wheel_file(_WEIGHTS)
    digest = blake2b(tokenizer, digest_size=6)
    digest.update(weights)
    matrix = load(weights)["embedding.weight"].astype(np.float32)
    return StaticEmbedder(Tokenizer.from_buffer(tokenizer), matrix, f"{_REVISION}-{digest.hexdigest()}")
