"""Which units of a conversation are alike: by the cosine of their vectors, or by a lower one and a word that both have."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import LINKS
from memlake.transforms.base.arrays import Bools, Float32s, Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import check_name, content_id
from memlake.transforms.retrieve.indexes.topk import top_pairs

# Raised only when the same units and vectors come to other links.
REVISION = 1
_BLOCK = 512
# Three letters or more in a row, of any script; digits and the underscore are no letters.
_WORD = re.compile(r"[^\W\d_]{3,}")
_SHARED = "shares a word"
# The usual English function words of three letters and more.
_STOP_LIST = (
    "about above after again against all also and any are because been before being below between both but can could "
    "did does doing down during each few for from further had has have having her here hers herself him himself his how "
    "into its itself just more most myself nor not now off once only other our ours ourselves out over own same she "
    "should some such than that the their theirs them themselves then there these they this those through too under "
    "until very was were what when where which while who whom why will with would you your yours yourself "
    "yourselves"
)
STOP_WORDS = frozenset(_STOP_LIST.split())


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Which units are linked, and what the links are called.

    Attributes:
        threshold: the least cosine.
        k: at most so many links leave a unit; 0 is no limit.
        shared_word_threshold: the least cosine of two units that share a word of three letters or more which is no stop
            word; None leaves this rule out.
        relation: the name of these links; the same name with other settings replaces them.
    """

    threshold: float = 0.5
    k: int = 10
    shared_word_threshold: float | None = None
    relation: str = "similar"

    def __post_init__(self) -> None:
        check_name("relation", self.relation)
        if not -1 <= self.threshold <= 1:
            raise UsageError(f"threshold={self.threshold}: a cosine from -1 to 1 is allowed", hint="--threshold 0.5")
        if self.k < 0:
            raise UsageError(f"k={self.k}: 0 (no limit) or more is allowed", hint="--k 10")
        lower = self.shared_word_threshold
        if lower is not None and not -1 <= lower <= self.threshold:
            raise UsageError(
                f"shared_word_threshold={lower}: a cosine from -1 to threshold={self.threshold} is allowed",
                hint="--shared-word-threshold 0.3",
            )

    @property
    def settings_hash(self) -> str:
        """What decides the links, but for units and vectors."""
        return content_id(
            "similar", REVISION, repr(self.threshold), self.k, repr(self.shared_word_threshold), self.relation
        )


@dataclass(frozen=True, slots=True)
class Edges:
    """Links among the units of one conversation: by source, strongest first, ties by position.

    Attributes:
        source, target: positions of units; never the same.
        weight: cosine, rounded to float32.
        by_word: whether only a shared word made up for the cosine.
    """

    source: Ints
    target: Ints
    weight: Float32s
    by_word: Bools


def similar_units(vectors: Float32s, texts: Sequence[str], settings: LinkSettings) -> Edges:
    """The links that leave each unit of a conversation.

    Args:
        vectors: shape (n, dimension); rows of NaN have no link.
        texts: what the words are taken from, one a unit.
    """
    lower, count = settings.shared_word_threshold, len(vectors)
    # With words to look at, how many are near says nothing of how many are linked.
    most = min(settings.k + 1 if settings.k and lower is None else count, count)
    at_least = settings.threshold if lower is None else lower
    words = None if lower is None else _words_of(texts)
    found = []
    for first in range(0, count, _BLOCK):
        pairs = top_pairs(vectors[first : first + _BLOCK], vectors, most, at_least=at_least)
        source = pairs.question + first
        high = pairs.score >= settings.threshold
        linked = source != pairs.unit
        if words is not None:
            shared = (words[first : first + _BLOCK] @ words.T).toarray() > 0
            linked &= high | shared[pairs.question, pairs.unit]
        if settings.k:
            linked &= _rank_among(linked, pairs.question) < settings.k
        found.append((source[linked], pairs.unit[linked], pairs.score[linked], ~high[linked]))
    if not found:
        nothing = np.empty(0, np.int64)
        return Edges(nothing, nothing, np.empty(0, np.float32), np.empty(0, np.bool_))
    source, target, weight, by_word = (np.concatenate(column) for column in zip(*found, strict=True))
    return Edges(source, target, weight, by_word)


def link_rows(units: pa.Table, edges: Edges, relation: str) -> pa.Table:
    """Rows of the table links, of units of one conversation and representation."""
    source, target = pa.array(edges.source), pa.array(edges.target)
    taken = units.select(["corpus", "conversation_id", "representation"]).take(source)
    described = pc.if_else(pa.array(edges.by_word), pa.scalar(_SHARED), pa.scalar(None, pa.string()))
    columns = {
        **dict(zip(taken.column_names, taken.columns, strict=True)),
        "source_unit": units["unit_id"].take(source),
        "target_unit": units["unit_id"].take(target),
        "relation": pa.repeat(pa.scalar(relation, pa.string()), len(source)),
        "description": described,
        "weight": pa.array(edges.weight.astype(np.float64)),
    }
    return pa.table([columns[name] for name in LINKS.schema.names], schema=LINKS.schema)


def texts_of(units: pa.Table) -> list[str]:
    """The key texts of units without the header that all of a session's units share: a date is no word in common."""
    columns = (units[name].to_pylist() for name in ("key_text", "show_text", "header_chars"))
    return [
        key[header:] if header and key.startswith(shown[:header]) else key
        for key, shown, header in zip(*columns, strict=True)
    ]


def _rank_among(kept: Bools, question: Ints) -> Ints:
    """How many kept pairs of the same question stand before each pair; pairs stand by question."""
    before: Ints = np.cumsum(kept) - kept
    starts = np.searchsorted(question, question)
    return before - before[starts]


def _words_of(texts: Sequence[str]) -> Any:
    """Which words each text has: a sparse matrix of ones, shape (texts, words)."""
    from scipy import sparse  # a fifth of a second, which only this rule should pay

    numbers: dict[str, int] = {}
    rows, words = [], []
    for place, text in enumerate(texts):
        for word in {found.casefold() for found in _WORD.findall(text)} - STOP_WORDS:
            rows.append(place)
            words.append(numbers.setdefault(word, len(numbers)))
    shape = (len(texts), max(len(numbers), 1))
    return sparse.csr_matrix((np.ones(len(rows), np.int32), (rows, words)), shape=shape)
