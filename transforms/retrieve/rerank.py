"""Rerank step: the first units of each question in the order of a cross-encoder, the rest behind them as they were."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from transforms.retrieve.reranker import load_reranker
from transforms.retrieve.search import Search


@dataclass(frozen=True, slots=True)
class Rerank:
    """Show the first `pool` units of each question to a reranker, and order these by its score, ties by unit_id.

    Attributes:
        model: NAME or NAME@CHECKPOINT, see `transforms.retrieve.reranker`.
        pool: how many units it is shown.
        text: which text of a unit: what a reader would see, or what is searched.
        max_length: longest pair of question and text in tokens; longer ones are cut, and counted.
        normalise: store scores through the sigmoid; the order is by the model's own.
    """

    stage: ClassVar[Literal["rerank"]] = "rerank"
    model: str = "bge-reranker-v2-m3"
    pool: int = 30
    text: str = field(default="show", metadata={"allowed": ("show", "key")})
    max_length: int = 512
    normalise: bool = True

    def apply(self, search: Search) -> Search:
        """Set the order and `rerank`.

        Raises:
            NotFoundError: the reranker, or its weights, are not here; there is no other order to fall back to.
        """
        assert search.order is not None
        questions, units = len(search.texts), len(search.store)
        pool = min(self.pool, units)
        scores = np.full((questions, units), np.nan)
        reranker = load_reranker(self.model)
        if not questions or not pool:
            return replace(search, rerank=scores)
        texts = search.store.units[f"{self.text}_text"].to_pylist()
        # By unit_id, as the store is sorted, so that a stable sort below leaves ties in that order.
        shown = np.sort(search.order[:, :pool], axis=1)
        pairs = [(search.texts[question], texts[unit]) for question, row in enumerate(shown) for unit in row]
        made = reranker.score(pairs, max_length=self.max_length)
        stored = made.normalised if self.normalise else made.logits.astype(np.float64)
        np.put_along_axis(scores, shown, stored.reshape(questions, pool), axis=1)
        # By the model's own scores: the sigmoid would make ties of the best ones.
        best = np.argsort(-made.logits.reshape(questions, pool), axis=1, kind="stable")
        order = search.order.copy()
        order[:, :pool] = np.take_along_axis(shown, best, axis=1)
        return replace(search, order=order, rerank=scores, rerank_cut=made.cut)
