"""Rerank step: the first units of each question in the order of a cross-encoder, the rest behind them as they were."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from memlake.transforms.base.arrays import runs
from memlake.transforms.base.fields import Count, Text, checked
from memlake.transforms.embed.reranker import check_reranker, load_reranker
from memlake.transforms.retrieve.steps.step import Part, Search, Stage, Step


class Rerank(Step):
    """Show the first `pool` candidates of each question to a reranker, and order these by its score, ties by unit_id.

    Attributes:
        model: NAME or NAME@CHECKPOINT, see `memlake.transforms.embed.reranker`.
        pool: how many units it is shown.
        text: which text of a unit: what a reader would see, or what is searched.
        max_length: longest pair of question and text in tokens; longer ones are cut, and counted.
        normalise: store scores through the sigmoid; the order is by the model's own.
    """

    stage: ClassVar[Stage] = "rerank"
    part: ClassVar[str] = "rerank"
    step: Literal["rerank"]
    model: Annotated[Text, checked(check_reranker)] = "bge-reranker-v2-m3"
    pool: Count = 30
    text: Literal["show", "key"] = "show"
    max_length: Count = 512
    normalise: bool = True

    @property
    def rerankers(self) -> tuple[str, ...]:  # type: ignore[override]
        """See Step."""
        return (self.model,)

    def with_reranker(self, model: str) -> Self | None:
        """See Step; another model's name is not checked here."""
        return None if model == "none" else self.model_copy(update={"model": model})

    def apply(self, search: Search) -> Search:
        """Set the order, and add the part.

        Raises:
            NotFoundError: the reranker, or its weights, are not here; there is no other order to fall back to.
        """
        assert search.order is not None
        assert search.listed is not None
        scores = np.full(search.order.shape, np.nan)
        reranker = load_reranker(self.model)
        pool = np.minimum(self.pool, search.listed)
        if not pool.any():
            return search.with_part(self.part, Part(scores))
        texts = search.store.units[f"{self.text}_text"].to_pylist()
        question = np.repeat(np.arange(len(pool)), pool)
        rank = runs(0, pool)
        unit = search.order[question, rank]
        pairs = [
            (search.texts[asked], texts[shown]) for asked, shown in zip(question.tolist(), unit.tolist(), strict=True)
        ]
        made = reranker.score(pairs, max_length=self.max_length)
        scores[question, unit] = made.normalised if self.normalise else made.logits.astype(np.float64)
        # By the model's own scores, since the sigmoid would make ties of the best ones; then by unit_id, as units stand.
        best = np.lexsort((unit, -made.logits, question))
        order = search.order.copy()
        order[question, rank] = unit[best]
        return replace(search.with_part(self.part, Part(scores)), order=order, rerank_cut=made.cut)
