"""Seed steps on tokens: the weights and the vectors that an embedder gives each token of a text."""

from typing import Any, ClassVar, Literal

import numpy as np

from memlake.transforms.base.arrays import GRID, Floats, Ints, on_grid
from memlake.transforms.embed.embedder import Ragged
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.retrieve.steps.step import Scale, Search, Seed

# Products of token vectors held at one time: about 64 MB, whatever the conversation.
_BLOCK = 8_000_000


class SeedSparse(Seed):
    """Weights of the tokens that question and unit share, multiplied and added: FlagEmbedding's lexical matching score.

    NaN where either has no vector, 0 where they share no token.
    """

    part: ClassVar[str] = "sparse"
    scale: ClassVar[Scale] = "words"
    outputs: ClassVar[frozenset[str]] = frozenset({"sparse"})
    step: Literal["seed_sparse"]

    def score(self, search: Search) -> Floats:
        """See Seed.

        Raises:
            UsageError: the store or the questions have no weights of tokens.
        """
        asked, stored = search.outputs(self.step, "sparse")
        return _known(lexical_weights_scores(asked.sparse, stored.sparse), asked, stored)


class SeedMulti(Seed):
    """MaxSim: the mean over the question's tokens of each one's largest cosine with a token of the unit.

    FlagEmbedding's colbert_score; NaN where either has no vector.
    """

    part: ClassVar[str] = "multi"
    scale: ClassVar[Scale] = "cosine"
    outputs: ClassVar[frozenset[str]] = frozenset({"multi"})
    step: Literal["seed_multi"]

    def score(self, search: Search) -> Floats:
        """See Seed.

        Raises:
            UsageError: the store or the questions have no vectors of tokens.
        """
        asked, stored = search.outputs(self.step, "multi")
        assert asked.multi is not None
        assert stored.multi is not None
        return _known(max_sim(asked.multi, stored.multi), asked, stored)


def lexical_weights_scores(questions: Any, units: Any) -> Floats:
    """Dot product of every row of two CSR matrices, shape (questions, units), float64.

    Weights are float32, so a product of two is exact in float64; products are added by ascending token id, one after
    another: the same bits on every run and machine, to rounding what float32 gives.
    """
    from scipy import sparse  # see outputs

    width = max(questions.shape[1], units.shape[1])
    asked = sparse.csr_matrix((questions.data, questions.indices, questions.indptr), (questions.shape[0], width))
    stored = sparse.csr_matrix((units.data, units.indices, units.indptr), (units.shape[0], width))
    score: Floats = (asked @ stored.T.tocsr()).toarray()
    return score


def max_sim(questions: Ragged, units: Ragged) -> Floats:
    """MaxSim of every question and unit, shape (questions, units), float64; 0 for a text without tokens.

    Vectors are rounded to a grid on which float64 adds without rounding, so a block's size changes no bit.
    """
    asked, stored = on_grid(questions.values[0]), units.values[0]
    found = np.zeros((len(questions.offsets) - 1, len(units.offsets) - 1))
    sizes = np.diff(questions.offsets)
    full = np.flatnonzero(sizes)
    most = max(_BLOCK // max(len(asked), asked.shape[1], 1), 1)
    for first, last in _blocks(units.offsets, most):
        tokens = slice(units.offsets[first], units.offsets[last])
        there = first + np.flatnonzero(np.diff(units.offsets[first : last + 1]))
        if not len(there) or not len(full):
            continue
        cosine = (asked @ on_grid(stored[tokens]).T) / (GRID * GRID)
        best = np.maximum.reduceat(cosine, units.offsets[there] - units.offsets[first], axis=1)
        found[np.ix_(full, there)] = np.add.reduceat(best, questions.offsets[full], axis=0) / sizes[full, None]
    return found


def _blocks(offsets: Ints, most: int) -> list[tuple[int, int]]:
    """Ranges of texts of at most `most` tokens together; a longer text is a range of its own."""
    blocks: list[tuple[int, int]] = []
    first = 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = max(last, first + 1)
        blocks.append((first, last))
        first = last
    return blocks


def _known(score: Floats, asked: Outputs, stored: Outputs) -> Floats:
    score[asked.missing, :] = np.nan
    score[:, stored.missing] = np.nan
    return score
