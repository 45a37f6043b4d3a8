"""Expand step: neighbours of the candidates along links join them."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Bools, Floats, Ints
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.fields import Count, CountOrNone, Number, Texts
from memlake.transforms.lake.storage.parts import LINKS_PART
from memlake.transforms.retrieve.steps.step import Scope, Search, Stage, Step
from memlake.transforms.retrieve.store.store import Store

# Scores of (question, link) held at one time: about 32 MB.
_BLOCK = 4_000_000


class Expand(Step):
    """Units linked to a candidate, in either direction, become candidates behind or between the others.

    A neighbour scores `decay` times its best parent, at every hop anew; a score that is not above 0 is not decayed, since
    that would raise it. Candidates keep their own scores, and all are ranked by score, ties by unit_id. What a filter took
    out does not join.

    Attributes:
        relations: only links of these; empty for all.
        threshold: only links of at least this weight.
        cap: at most so many neighbours a question, nearer hops first, then by score and unit_id; 0 for no limit.
        hops: how far; the published study says 1 and runs 3.
    """

    stage: ClassVar[Stage] = "expand"
    reads: ClassVar[frozenset[str]] = frozenset({"links"})
    step: Literal["expand"]
    relations: Texts = ()
    threshold: Number = 0.0
    cap: CountOrNone = 0
    hops: Count = 1
    decay: Number = 0.8

    def check_stored(self, scope: Scope) -> None:
        """See Step; a representation that was linked and has no two units alike is no fault: nothing expands.

        Raises:
            NotFoundError: of a conversation a representation was never linked by these relations.
        """
        for representation in scope.representations:
            linked = self._linked(scope, representation)
            if lacking := [name for name in scope.conversations if name not in linked]:
                relations = ", ".join(self.relations) or "any"
                raise NotFoundError(
                    f"representation={representation!r} of corpus={scope.corpus!r} has no links of relation={relations} "
                    f"in {len(lacking)} of {len(scope.conversations)} conversations, the first is {lacking[0]!r}, and a "
                    "plan expands along them",
                    hint=f"memlake link {representation} --corpus {scope.corpus}",
                )

    def _linked(self, scope: Scope, representation: str) -> set[str]:
        """The conversations whose units were linked, or brought links with them, whatever their number."""
        here = pc.field("corpus") == scope.corpus
        made = here & pc.starts_with(pc.field("part"), LINKS_PART.named(representation, ""))
        brought = here & (pc.field("representation") == representation)
        if self.relations:
            made &= pc.field("part").isin([LINKS_PART.named(representation, relation) for relation in self.relations])
            brought &= pc.field("relation").isin(list(self.relations))
        tables = (
            scope.snapshot.dataset(name).to_table(["conversation_id"], where)
            for name, where in (("parts", made), ("links", brought))
        )
        return {name for rows in tables for name in pc.unique(rows["conversation_id"]).to_pylist()}

    def apply(self, search: Search) -> Search:
        """Set order, score and `listed` with the neighbours.

        Raises:
            UsageError: the links were not read.
        """
        assert search.order is not None
        assert search.score is not None
        assert search.listed is not None
        ways = search.store.once(self, lambda: _ways(search.store, self.relations, self.threshold))
        questions, units = search.order.shape
        score, listed = search.score.copy(), np.zeros((questions, units), np.bool_)
        np.put_along_axis(listed, search.order, np.arange(units)[None, :] < search.listed[:, None], axis=1)
        size = max(_BLOCK // max(len(ways[0]), 1), 1)
        for start in range(0, questions, size):
            rows = slice(start, start + size)
            shut = None if search.allowed is None else ~search.allowed[rows]
            self._join(score[rows], listed[rows], shut, ways)
        order = np.argsort(np.where(listed, -score.astype(np.float32), np.inf), axis=1, kind="stable")
        return replace(search, score=score, order=order, listed=np.count_nonzero(listed, axis=1).astype(np.int64))

    def _join(
        self,
        score: Floats,
        listed: Bools,
        shut: Bools | None,
        ways: tuple[Ints, Ints, Ints],
    ) -> None:
        """Add neighbours to `listed`, and their scores to `score`."""
        source, starts, target = ways
        left = np.full(len(score), self.cap or listed.shape[1])
        reached = listed.copy()
        for _ in range(self.hops):
            parents = np.where(reached, score, -np.inf)
            if not len(target) or not reached.any():
                return
            best = np.full(score.shape, -np.inf)
            best[:, target] = np.maximum.reduceat(parents[:, source], starts, axis=1)
            # Rounded as every score is, so that ties are those of what is stored.
            best = np.minimum(best, best * self.decay).astype(np.float32).astype(np.float64)
            best[listed] = -np.inf
            if shut is not None:
                best[shut] = -np.inf
            place = np.argsort(-best, axis=1, kind="stable")
            new = np.zeros_like(listed)
            np.put_along_axis(new, place, np.arange(listed.shape[1])[None, :] < left[:, None], axis=1)
            reached = new & (best > -np.inf)
            score[reached] = best[reached]
            listed |= reached
            left -= np.count_nonzero(reached, axis=1)


def _ways(store: Store, relations: tuple[str, ...], threshold: float) -> tuple[Ints, Ints, Ints]:
    """Links in both directions: sources sorted by target, where each target's begin, and the targets that have any."""
    links = store.needed("links")
    kept = pc.greater_equal(links["weight"], threshold)
    if relations:
        kept = pc.and_(kept, pc.is_in(links["relation"], value_set=pa.array(relations, pa.string())))
    links = links.filter(kept)
    found = [pc.index_in(links[name], value_set=store.units["unit_id"]) for name in ("source_unit", "target_unit")]
    both = pc.and_(*map(pc.is_valid, found))
    ends = [np.asarray(end.filter(both).to_numpy(), np.int64) for end in found]
    source, target = np.concatenate(ends), np.concatenate(ends[::-1])
    pairs = np.unique(np.stack([target, source]), axis=1)
    targets, starts = np.unique(pairs[0], return_index=True)
    return pairs[1], starts, targets
