"""Show steps: what of a unit a context holds. At most one of them stands in a plan; without one it is show_text."""

from dataclasses import replace
from typing import ClassVar, Literal

from memlake.transforms.retrieve.contexts.shown import View
from memlake.transforms.retrieve.steps.step import Search, Stage, Step


class _ShowStep(Step):
    stage: ClassVar[Stage] = "show"

    def apply(self, search: Search) -> Search:
        """Set the view."""
        return replace(search, view=self.view or search.view)


class Show(_ShowStep):
    """Another text of each unit: its key_text, or the quote that it rests on; with its header or without.

    A unit without a quote shows its show_text in the quote's place. Costs are those of what is shown.

    Attributes:
        header: false leaves out the first header_chars of what is shown.
    """

    step: Literal["show"]
    text: Literal["show", "key", "quote"] = "show"
    header: bool = True

    @property
    def view(self) -> View:  # type: ignore[override]
        """See Step."""
        return View(text=self.text, header=self.header)


class Merge(_ShowStep):
    """Of each slice only what no better unit of the context has shown; white space alone is nothing.

    Each stretch of a slice stands behind the unit's header, without the white space at its ends. Units that are no slice
    are shown whole. Packed in time order, slices side by side in one session are one piece behind the first one's header.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"turns"})
    view: ClassVar[View] = View(only_new="spans")
    step: Literal["merge"]


class Project(_ShowStep):
    """The turns behind each unit, as the representation `turns` shows them, each once a context."""

    reads: ClassVar[frozenset[str]] = frozenset({"provenance", "turns"})
    view: ClassVar[View] = View(only_new="turns")
    step: Literal["project"]
