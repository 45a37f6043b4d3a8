"""What plans read beside units: provenance, turns, links and evidence, of some conversations at a time."""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.storage.parts import LINKS_PART
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.retrieve.plan import Plan
from memlake.transforms.retrieve.steps.expand import Expand


class Searching(Protocol):
    """A cell of a study, as far as it says what is read."""

    @property
    def representations(self) -> tuple[str, ...]:
        """The representations that it searches."""
        ...

    @property
    def plan(self) -> Plan:
        """How it searches them."""
        ...


def reads_of(cells: Sequence[Searching]) -> frozenset[str]:
    """The tables that any of the cells' plans reads beside units."""
    return frozenset[str]().union(*(cell.plan.reads for cell in cells))


def read_beside(
    snapshot: Snapshot, corpus: str, cells: Sequence[Searching], conversations: Sequence[str]
) -> dict[str, pa.Table]:
    """Rows of every table that a plan reads beside units, of these conversations, and of the representations that need them."""
    tables = {}
    for name in sorted(reads_of(cells)):
        where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(list(conversations))
        if name in ("provenance", "links"):
            needed = {one for cell in cells if name in cell.plan.reads for one in cell.representations}
            where &= pc.field("representation").isin(sorted(needed))
        tables[name] = snapshot.read(name, where=where)
    return tables


def check_beside(snapshot: Snapshot, corpus: str, cells: Sequence[Searching], conversations: Sequence[str]) -> None:
    """Refuse a plan that follows links, or looks for gold turns, where there are none.

    A representation that was linked and has no two units alike is no fault: nothing expands.

    Raises:
        NotFoundError: of a conversation that is asked about a representation was never linked by the plan's relations; or no
            question of the corpus has gold of its label set.
    """
    linked: set[tuple[str, Expand]] = set()
    for cell in cells:
        if cell.plan.expand is not None:
            linked |= {(name, cell.plan.expand) for name in cell.representations}
    for representation, expand in sorted(linked, key=lambda one: (one[0], one[1].relations)):
        linked_ones = _linked(snapshot, corpus, representation, expand.relations)
        if lacking := [name for name in conversations if name not in linked_ones]:
            relations = ", ".join(expand.relations) or "any"
            raise NotFoundError(
                f"representation={representation!r} of corpus={corpus!r} has no links of relation={relations} in "
                f"{len(lacking)} of {len(conversations)} conversations, the first is {lacking[0]!r}, and a plan expands along "
                "them",
                hint=f"memlake link {representation} --corpus {corpus}",
            )
    for label_set in sorted({name for cell in cells for name in cell.plan.label_sets}):
        where = (pc.field("corpus") == corpus) & (pc.field("label_set") == label_set)
        if not snapshot.dataset("evidence").count_rows(filter=where):
            raise NotFoundError(
                f"corpus={corpus!r} has no evidence of label_set={label_set!r}, and a plan looks for it",
                hint="memlake sql 'select distinct corpus, label_set from evidence'",
            )


def _linked(snapshot: Snapshot, corpus: str, representation: str, relations: Sequence[str]) -> set[str]:
    """The conversations whose units were linked, or brought links with them, whatever their number."""
    made = pc.starts_with(pc.field("part"), LINKS_PART.named(representation, ""))
    brought = pc.field("representation") == representation
    if relations:
        made = pc.field("part").isin([LINKS_PART.named(representation, relation) for relation in relations])
        brought &= pc.field("relation").isin(list(relations))
    tables = (("parts", made), ("links", brought))
    found = (
        snapshot.dataset(name).to_table(columns=["conversation_id"], filter=(pc.field("corpus") == corpus) & where)
        for name, where in tables
    )
    return {name for rows in found for name in pc.unique(rows["conversation_id"]).to_pylist()}
