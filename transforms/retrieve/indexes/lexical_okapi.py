"""BM25 as rank_bm25's BM25Okapi counts it, with the words of the published study."""

import math
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memlake.transforms.base.arrays import Floats
from memlake.transforms.retrieve.indexes.lexical import WordIndex

# A word in more than half of the units would count against them: it gets this share of the mean idf instead.
EPSILON = 0.25
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class OkapiIndex(WordIndex):
    """BM25 whose weight is idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length)).

    idf = ln(N - n + 0.5) - ln(n + 0.5).
    """

    @classmethod
    def build(cls, texts: Sequence[str], *, k1: float, b: float) -> "OkapiIndex":
        """Index texts; a text without a word scores 0 for every question."""
        counts = [Counter(okapi_words(text)) for text in texts]
        vocabulary: dict[str, int] = {}
        for count in counts:
            for word in count:
                vocabulary.setdefault(word, len(vocabulary))
        words = np.array([vocabulary[word] for count in counts for word in count], np.int64)
        unit = np.repeat(np.arange(len(counts)), [len(count) for count in counts])
        often = np.array([many for count in counts for many in count.values()], np.float64)
        length = np.array([count.total() for count in counts], np.float64)
        mean = length.sum() / max(len(length), 1)
        idf = _idf(np.bincount(words, minlength=len(vocabulary)).tolist(), len(counts))
        weight = idf[words] * (often * (k1 + 1) / (often + k1 * (1 - b + b * length[unit] / max(mean, 1e-300))))
        order = np.argsort(words, kind="stable")
        starts = np.searchsorted(words[order], np.arange(len(vocabulary) + 1))
        return cls(vocabulary, starts.astype(np.int64), unit[order].astype(np.int64), weight[order], len(counts))

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """See WordIndex."""
        return [okapi_words(text) for text in texts]


def okapi_words(text: str) -> list[str]:
    """Words of a text: without ASCII punctuation, lower-case, split on white space."""
    return text.translate(_NO_PUNCTUATION).lower().split()


def _idf(holding: Sequence[int], units: int) -> Floats:
    """Inverse document frequency of each word, by how many units hold it, added up in the order of first sight."""
    idf = [math.log(units - many + 0.5) - math.log(many + 0.5) for many in holding]
    floor = EPSILON * (sum(idf) / len(idf)) if idf else 0.0
    return np.array([value if value >= 0 else floor for value in idf], np.float64)
