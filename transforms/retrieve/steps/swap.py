"""Swap step: each question is shown what another question of its conversation found: the shuffled-evidence control."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.fields import CountOrNone
from memlake.transforms.base.ids import content_id
from memlake.transforms.retrieve.steps.step import Search, Stage, Step


class Swap(Step):
    """Ranked list and context are those of another question of the conversation, never the question's own.

    Questions by id are rotated by a number from the seed, so that each one's context is shown exactly once. Where nothing
    else is asked of the conversation, nothing is shown. Rows of retrievals are the other question's too.
    """

    stage: ClassVar[Stage] = "swap"
    step: Literal["swap"]
    seed: CountOrNone = 0

    def partners(self, questions: pa.Table) -> Ints:
        """Whose context each question is shown, as rows of `questions`; its own where there is one question only."""
        by_id = pc.sort_indices(questions["question_id"]).to_numpy().astype(np.int64)
        count = len(by_id)
        if count < 2:
            return by_id
        name = [questions[column][0].as_py() for column in ("corpus", "conversation_id")]
        by = 1 + int(content_id(self.seed, *name)[:16], 16) % (count - 1)
        partner = np.empty(count, np.int64)
        partner[by_id] = np.roll(by_id, -by)
        return partner

    def apply(self, search: Search) -> Search:
        """Leave no candidate to a question that stands alone; the others are searched as their partners from the start."""
        assert search.listed is not None
        return replace(search, listed=np.zeros_like(search.listed)) if search.alone else search
