"""Chance: a number for every question and unit that no text decides, the same on every run and machine."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.ids import content_ids
from memlake.transforms.retrieve.store.store import Store

# Whole numbers up to this are exact in float32, in which scores are compared.
LEVELS = 2**24


def chance(questions: pa.Table, store: Store, seed: int) -> Ints:
    """A number from 1 to LEVELS for each question and unit, shape (questions, units), from their ids and the seed.

    The finaliser of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) over
    two 64-bit halves of content ids.
    """
    asked = _keys([str(seed)] * questions.num_rows, questions["question_id"].to_pylist(), questions["text"].to_pylist())
    stored = store.once("keys", lambda: _keys(store.units["unit_id"].to_pylist()))
    mixed = asked[:, None] ^ stored[None, :]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(40)).astype(np.int64) + 1


def _keys(*columns: list[str]) -> npt.NDArray[np.uint64]:
    return np.array([int(key[:16], 16) for key in content_ids(*columns)], np.uint64)
