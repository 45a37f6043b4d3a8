"""Show steps: what of a unit a context holds. At most one of them stands in a plan; without one it is show_text."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from memlake.transforms.retrieve.contexts.view import View
from memlake.transforms.retrieve.steps.search import Search


@dataclass(frozen=True, slots=True)
class Show:
    """Another text of each unit: its key_text, or the quote that it rests on; with its header or without.

    A unit without a quote shows its show_text in the quote's place. Costs are those of what is shown.

    Attributes:
        header: false leaves out the first header_chars of what is shown.
    """

    stage: ClassVar[Literal["show"]] = "show"
    reads: ClassVar[frozenset[str]] = frozenset()
    text: str = field(default="show", metadata={"allowed": ("show", "key", "quote")})
    header: bool = True

    def apply(self, search: Search) -> Search:
        """Set the view."""
        return replace(search, view=View(text=self.text, header=self.header))


@dataclass(frozen=True, slots=True)
class Merge:
    """Of each slice only what no better unit of the context has shown; white space alone is nothing.

    Each stretch of a slice stands behind the unit's header, without the white space at its ends. Units that are no slice
    are shown whole. Packed in time order, slices side by side in one session are one piece behind the first one's header.
    """

    stage: ClassVar[Literal["show"]] = "show"
    reads: ClassVar[frozenset[str]] = frozenset({"turns"})

    def apply(self, search: Search) -> Search:
        """Set the view."""
        return replace(search, view=View(only_new="spans"))


@dataclass(frozen=True, slots=True)
class Project:
    """The turns behind each unit, as the representation `turns` shows them, each once a context."""

    stage: ClassVar[Literal["show"]] = "show"
    reads: ClassVar[frozenset[str]] = frozenset({"provenance", "turns"})

    def apply(self, search: Search) -> Search:
        """Set the view."""
        return replace(search, view=View(only_new="turns"))
