"""A snapshot of tables in memory."""

import pyarrow as pa
import pyarrow.dataset as pads

from memlake.schemas import TABLES


class HeldSnapshot:
    """Tables by name, every other one empty; notes what is read."""

    snapshot_id = "held"

    def __init__(self, **tables: pa.Table) -> None:
        self.tables = tables
        self.seen: list[tuple[str, int]] = []

    def dataset(self, table):
        return pads.dataset(self.tables.get(table, TABLES[table].empty()))

    def read(self, table, *, columns=None, where=None):
        found = self.dataset(table).to_table(columns=columns, filter=where)
        self.seen.append((table, found.num_rows))
        return found
