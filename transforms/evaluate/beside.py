"""What plans read: units, and beside them provenance, turns, links, evidence, of some conversations at a time."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import TABLES
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.retrieve.steps.step import Scope
from memlake.transforms.study.study import StudyCell


def representations_of(cells: Sequence[StudyCell]) -> list[str]:
    """The representations that any of the cells searches, by name."""
    return sorted({name for cell in cells for name in cell.representations})


def reads_of(cells: Sequence[StudyCell]) -> frozenset[str]:
    """The tables that any of the cells' plans reads beside units."""
    return frozenset[str]().union(*(cell.plan.reads for cell in cells))


def read_tables(
    snapshot: Snapshot, corpus: str, cells: Sequence[StudyCell], conversations: Sequence[str]
) -> dict[str, dict[str, pa.Table]]:
    """Units, and every table that a plan reads beside them, of the representations that need them: rows by conversation."""
    tables = {}
    for name in ("units", *sorted(reads_of(cells))):
        where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(list(conversations))
        if "representation" in TABLES[name].schema.names:
            readers = [cell for cell in cells if name == "units" or name in cell.plan.reads]
            where &= pc.field("representation").isin(representations_of(readers))
        rows = snapshot.read(name, where=where)
        tables[name] = {of: rows.filter(pc.equal(rows["conversation_id"], of)) for of in conversations}
    return tables


def check_beside(snapshot: Snapshot, corpus: str, cells: Sequence[StudyCell], conversations: Sequence[str]) -> None:
    """Refuse a plan of which a step lacks what it goes by: links, gold turns.

    Raises:
        NotFoundError: it is not stored for a conversation that is asked about, or for the corpus.
    """
    steps = dict.fromkeys((step, cell.representations) for cell in cells for step in cell.plan.steps)
    for step, representations in steps:
        step.check_stored(Scope(snapshot, corpus, representations, conversations))
