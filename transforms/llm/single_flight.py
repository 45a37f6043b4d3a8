"""Work that several tasks of one event loop want at the same time is done by one of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """Results by name while they are being made; each task of them all may be cancelled without harm to the others."""

    def __init__(self) -> None:
        self._making: dict[str, asyncio.Future[Result | None]] = {}

    def promise(self, name: str) -> asyncio.Future[Result | None] | None:
        """Take on the making of a result, to be ended by `fulfil`; None when another task has taken it on."""
        if name in self._making:
            return None
        promised: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self._making[name] = promised
        return promised

    def fulfil(self, name: str, result: Result | None) -> None:
        """Hand a result to those who wait for it; None tells them that it failed, and to make it themselves."""
        promised = self._making.pop(name)
        if not promised.done():
            promised.set_result(result)

    async def result(self, name: str) -> Result | None:
        """Wait for another task's result; None when it failed or nobody makes it."""
        promised = self._making.get(name)
        # Shielded: a task that is cancelled while it waits must not cancel what the others wait for.
        return None if promised is None else await asyncio.shield(promised)

    async def made(self, name: str, make: Callable[[], Awaitable[Result]]) -> tuple[Result, bool]:
        """The result, and whether this task made it."""
        while self.promise(name) is None:
            result = await self.result(name)
            if result is not None:
                return result, False
        result = None
        try:
            result = await make()
        finally:
            self.fulfil(name, result)
        return result, True
