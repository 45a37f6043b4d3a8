"""Seed steps that read no question's words: chance, the gold turns themselves, and time."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow.compute as pc

from memlake.transforms.base.errors import UsageError
from memlake.transforms.retrieve.steps.search import Chosen, Search
from memlake.transforms.retrieve.store.chance import LEVELS, chance
from memlake.transforms.retrieve.store.sources import UNPLACED

# Only these evidence rows are gold; see the table.
_GOLD = ("valid", "normalised")


@dataclass(frozen=True, slots=True)
class SeedRandom:
    """A pseudo-random score above 0 for each question and unit, from their ids: the control that shows what chance gives."""

    stage: ClassVar[Literal["seed"]] = "seed"
    reads: ClassVar[frozenset[str]] = frozenset()
    seed: int = field(default=0, metadata={"least": 0})

    def apply(self, search: Search) -> Search:
        """Add the part 'random'."""
        part = chance(search.questions, search.store, self.seed) / LEVELS
        return replace(search, parts={**search.parts, "random": part})


@dataclass(frozen=True, slots=True)
class SeedGold:
    """A score above 0 for units that touch a gold turn of the question, the earlier in the source the higher: the oracle.

    No other unit is a candidate; a question without gold turns under the label set has none.
    """

    stage: ClassVar[Literal["seed"]] = "seed"
    reads: ClassVar[frozenset[str]] = frozenset({"provenance", "evidence"})
    label_set: str = "official"

    def apply(self, search: Search) -> Search:
        """Add the part 'gold', and look for nothing else.

        Raises:
            UsageError: evidence or provenance was not read.
        """
        gold = _touching(search, self.label_set)
        place = _places(search)
        score = (place.max(initial=0) + 1 - place) / (place.max(initial=0) + 1)
        part = np.where(gold, score[None, :], np.nan)
        sought = gold if search.sought is None else search.sought & gold
        return replace(search, parts={**search.parts, "gold": part}, sought=sought)


@dataclass(frozen=True, slots=True)
class SeedTime:
    """A score above 0 that is the higher the later a unit begins in the source, so that a budget keeps the most recent."""

    stage: ClassVar[Literal["seed"]] = "seed"
    reads: ClassVar[frozenset[str]] = frozenset({"provenance"})

    def apply(self, search: Search) -> Search:
        """Add the part 'time'; 0 for a unit whose place is not known.

        Raises:
            UsageError: provenance was not read.
        """
        begins = search.store.sources.begins
        score = np.where(begins == UNPLACED, 0.0, _places(search) + 1.0)
        part = np.broadcast_to(score, (len(search.texts), len(score)))
        return replace(search, parts={**search.parts, "time": part})


def _places(search: Search) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Place of each unit among the conversation's, from 0; those that begin at one code point share theirs."""
    return np.unique(search.store.sources.begins, return_inverse=True)[1].astype(np.int64)


def _touching(search: Search, label_set: str) -> Chosen:
    """Which units touch a gold turn of which question, shape (m, n)."""
    if search.evidence is None:
        raise UsageError(
            "step='seed_gold' needs the evidence of the questions, and none was read",
            hint="memlake study run STUDY reads it; a text of one's own has none",
        )
    evidence = search.evidence
    rows = evidence.filter(
        (pc.field("label_set") == label_set) & pc.field("status").isin(_GOLD) & pc.field("ordinal").is_valid()
    )
    question = pc.index_in(rows["question_id"], value_set=search.questions["question_id"])
    rows = rows.append_column("question", question).filter(pc.is_valid(question))
    asked, turn = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("question", "ordinal"))
    sources = search.store.sources
    by_turn = np.argsort(sources.turn, kind="stable")
    low, high = (np.searchsorted(sources.turn[by_turn], turn, side=side) for side in ("left", "right"))
    count = high - low
    pair = np.repeat(low - np.cumsum(count) + count, count) + np.arange(count.sum())
    gold = np.zeros((len(search.texts), len(search.store)), np.bool_)
    gold[np.repeat(asked, count), sources.unit[by_turn][pair]] = True
    return gold
