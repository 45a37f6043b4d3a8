"""Check a whole snapshot: its files are all there, and every audit passes on every conversation."""

from dataclasses import dataclass

import pyarrow as pa

from memlake.transforms.base.errors import LakeCorruptError
from memlake.transforms.base.sql import sql_files
from memlake.transforms.lake.commit.audit import run_audits
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.place import row_count
from memlake.transforms.lake.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one audit: how many rows offend (at most 100 are counted), and the first of them."""

    audit: str
    rows: int
    first: str = ""

    def row(self) -> dict[str, object]:
        """The finding as a row."""
        return {"audit": self.audit, "rows": self.rows, "first": self.first}


def verify(lake: Lake, at: str = "latest") -> list[Finding]:
    """Every audit over every conversation of a snapshot; one finding each, also for those that pass.

    Raises:
        NotFoundError: there is no such snapshot.
    """
    snapshot = lake.snapshot(at)
    missing = _missing_files(snapshot)
    files = [Finding("files", len(missing), missing[0] if missing else "")]
    if missing:
        return files  # what cannot be read cannot be audited
    everything = snapshot.read("conversations", columns=["corpus", "conversation_id"])
    offending = run_audits(lake, snapshot, everything)
    names = [file.name for file in sql_files("audits")]
    passed = [Finding(name, 0) for name in names if name not in offending]
    return [*files, *passed, *(_finding(name, rows) for name, rows in offending.items())]


def _finding(name: str, rows: pa.Table) -> Finding:
    return Finding(name, rows.num_rows, str(rows.slice(0, 1).to_pylist()[0]))


def _missing_files(snapshot: Snapshot) -> list[str]:
    """Tables whose pinned version cannot be opened, and files that are missing or not Parquet."""
    missing: list[str] = []
    for name, pin in sorted(snapshot.pins.items()):
        try:
            if pin.is_lance:
                table = snapshot.lance_table(name)
                if table is not None:
                    table.validate()  # type: ignore[no-untyped-call]
                continue
            for file in snapshot.files(name):
                row_count(file)
        except (LakeCorruptError, OSError, ValueError, pa.ArrowInvalid) as error:
            missing.append(f"{name}: {error}")
    return missing
