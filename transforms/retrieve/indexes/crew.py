"""Threads for products of matrices: one a core, each with a BLAS of one thread."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Made = TypeVar("Made")
# Pairs from which on threads are worth their start.
WORTH_THREADS = 1 << 22


class Crew:
    """As many threads as there are cores, each with a BLAS of one thread; or none, for what is done in no time.

    A BLAS with threads of its own leaves all but one core idle while scores are looked through, and is slowed to a
    fraction when anything else runs beside it.
    """

    def __init__(self, parts: int, pool: ThreadPoolExecutor | None = None) -> None:
        self.parts, self._pool = parts, pool

    def map(self, function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """What a function makes of each item, in order."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)


@contextmanager
def crew_for(questions: int, units: int | None) -> Iterator[Crew]:
    """The threads for a search: one for each core, where there is enough to do.

    Args:
        units: how many there are; None where nobody knows.
    """
    worth = units is None or questions * units >= WORTH_THREADS
    parts = (os.cpu_count() or 1) if worth else 1
    if parts <= 1:
        yield Crew(1)
        return
    with ThreadPoolExecutor(parts) as pool, threadpool_limits(1, user_api="blas"):
        yield Crew(parts, pool)
