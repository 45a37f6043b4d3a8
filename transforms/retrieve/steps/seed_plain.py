"""Seed steps that read no question's words: chance, the gold turns themselves, and time."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Bools, Floats, Ints, runs
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.fields import CountOrNone, Text
from memlake.transforms.retrieve.steps.step import Scope, Search, Seed
from memlake.transforms.retrieve.store.chance import LEVELS, chance
from memlake.transforms.retrieve.store.sources import UNPLACED

# Only these evidence rows are gold; see the table.
_GOLD = ("valid", "normalised")


class SeedRandom(Seed):
    """A pseudo-random score above 0 for each question and unit, from their ids: the control that shows what chance gives."""

    part: ClassVar[str] = "random"
    step: Literal["seed_random"]
    seed: CountOrNone = 0

    def score(self, search: Search) -> Floats:
        """See Seed."""
        return chance(search.questions, search.store, self.seed) / LEVELS


class SeedGold(Seed):
    """A score above 0 for units that touch a gold turn of the question, the earlier in the source the higher: the oracle.

    No other unit is a candidate; a question without gold turns under the label set has none.
    """

    part: ClassVar[str] = "gold"
    reads: ClassVar[frozenset[str]] = frozenset({"provenance", "evidence"})
    step: Literal["seed_gold"]
    label_set: Text = "official"

    def check_stored(self, scope: Scope) -> None:
        """See Step.

        Raises:
            NotFoundError: no question of the corpus has gold of the label set.
        """
        where = (pc.field("corpus") == scope.corpus) & (pc.field("label_set") == self.label_set)
        if not scope.snapshot.dataset("evidence").count_rows(filter=where):
            raise NotFoundError(
                f"corpus={scope.corpus!r} has no evidence of label_set={self.label_set!r}, and a plan looks for it",
                hint="memlake sql 'select distinct corpus, label_set from evidence'",
            )

    def score(self, search: Search) -> Floats:
        """See Seed; NaN for all but gold.

        Raises:
            UsageError: evidence or provenance was not read.
        """
        place = _places(search)
        score = (place.max(initial=0) + 1 - place) / (place.max(initial=0) + 1)
        return np.where(_touching(search, self.label_set), score[None, :], np.nan)

    def apply(self, search: Search) -> Search:
        """Add the part, and look for nothing else; raises what `score` raises."""
        found = super().apply(search)
        gold = found.parts[self.part].found
        return replace(found, sought=gold if search.sought is None else search.sought & gold)


class SeedTime(Seed):
    """A score above 0 that is the higher the later a unit begins in the source, so that a budget keeps the most recent."""

    part: ClassVar[str] = "time"
    reads: ClassVar[frozenset[str]] = frozenset({"provenance"})
    step: Literal["seed_time"]

    def score(self, search: Search) -> Floats:
        """See Seed; 0 for a unit whose place is not known.

        Raises:
            UsageError: provenance was not read.
        """
        begins = search.store.sources.begins
        score = np.where(begins == UNPLACED, 0.0, _places(search) + 1.0)
        return np.broadcast_to(score, (len(search.texts), len(score)))


def _places(search: Search) -> Ints:
    """Place of each unit among the conversation's, from 0; those that begin at one code point share theirs."""
    return np.unique(search.store.sources.begins, return_inverse=True)[1].astype(np.int64)


def _touching(search: Search, label_set: str) -> Bools:
    """Which units touch a gold turn of which question, shape (m, n)."""
    evidence = search.store.needed("evidence")
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
    pair = runs(low, count)
    gold = np.zeros((len(search.texts), len(search.store)), np.bool_)
    gold[np.repeat(asked, count), sources.unit[by_turn][pair]] = True
    return gold
