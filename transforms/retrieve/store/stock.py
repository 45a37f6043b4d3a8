"""What is searched, as far as a seed needs to know: texts, perhaps vectors, and what is made of them once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memlake.transforms.base.arrays import Float32s
from memlake.transforms.text.content_tokens import Language

T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class Stock(ABC):
    """Units that are searched.

    Attributes:
        language: 'english' or 'other': how content tokens are stemmed.
        kept: what is made of them once, by what it is: indexes, costs, texts.
    """

    language: Language = "english"
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @abstractmethod
    def key_texts(self) -> list[str]:
        """What is searched of each unit."""

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made when first asked for under this key."""
        if key not in self.kept:
            self.kept[key] = make()
        made: T = self.kept[key]
        return made


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedStock(Stock):
    """Units of which nothing is held: both functions read them, in one and the same order.

    Attributes:
        texts: what is searched of each unit.
        vectors: blocks of vectors, shape (units, dimension), rows of NaN where a unit has none.
    """

    texts: Callable[[], list[str]]
    vectors: Callable[[], Iterable[Float32s]]

    def key_texts(self) -> list[str]:
        """See Stock."""
        return self.texts()
