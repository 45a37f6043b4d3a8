"""Choices from a seed that are the same on every machine and in every version of Python."""

from collections.abc import Sequence
from typing import TypeVar

from memlake.transforms.base.ids import content_id

T = TypeVar("T")
_DIGITS = 13  # hexadecimal ones: 52 bits, which a float holds exactly


class Dice:
    """Choices that depend on a seed and on the name of what is chosen, never on what was chosen before.

    So one more choice somewhere leaves all others as they are.
    """

    def __init__(self, *path: str | int) -> None:
        self.path = path

    def number(self, *name: str | int) -> float:
        """A number in [0, 1)."""
        return int(content_id(*self.path, *name)[:_DIGITS], 16) / 16**_DIGITS

    def below(self, limit: int, *name: str | int) -> int:
        """A whole number from 0 to limit - 1."""
        return int(self.number(*name) * limit)

    def pick(self, options: Sequence[T], *name: str | int) -> T:
        """One of the options."""
        return options[self.below(len(options), *name)]

    def shuffled(self, options: Sequence[T], *name: str | int) -> list[T]:
        """The options in another order."""
        order = sorted(range(len(options)), key=lambda place: self.number(*name, place))
        return [options[place] for place in order]
