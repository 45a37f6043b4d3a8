"""Run one coroutine function over many things, some at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


async def each(
    function: Callable[[Thing], Awaitable[Result]], things: Sequence[Thing], *, at_once: int
) -> list[Result]:
    """The function's result for each thing, in order; `at_once` tasks at most, however many things there are.

    The first error ends the others and is raised as itself.
    """
    todo = enumerate(things)
    done: dict[int, Result] = {}

    async def work() -> None:
        for place, thing in todo:
            done[place] = await function(thing)

    tasks = [asyncio.ensure_future(work()) for _ in range(min(at_once, len(things)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [done[place] for place in range(len(done))]
