"""Run sql/audits: each returns the rows that offend; no row anywhere means pass."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from transforms.lake.connect import connect_snapshot
from transforms.lake.lake import Lake
from transforms.lake.publish import Audit, missing_pins
from transforms.lake.snapshot import Snapshot
from transforms.sql import sql_files

# An audit's message shows some offending rows, not all.
SHOWN_ROWS = 100


def auditor(lake: Lake) -> Audit:
    """The audits of a lake as the committer calls them: on a candidate snapshot, for the conversations it touched."""

    def audit(candidate: Snapshot, audited: pa.Table) -> Mapping[str, pa.Table]:
        return run_audits(lake, candidate, audited) if audited.num_rows else {}

    return audit


def run_audits(lake: Lake, snapshot: Snapshot, audited: pa.Table) -> dict[str, pa.Table]:
    """Offending rows by audit, for some conversations (corpus, conversation_id) of a snapshot."""
    found: dict[str, pa.Table] = {}
    with connect_snapshot(lake, snapshot) as connection:
        connection.register("audited_rows", audited)
        connection.execute("create temp table audited as select corpus, conversation_id from audited_rows")
        for file in sql_files("audits"):
            offending = connection.sql(file.text).limit(SHOWN_ROWS).to_arrow_table()
            if offending.num_rows:
                found[file.name] = offending
    found.update(_audit_vectors(snapshot, audited))
    return found


def verify(lake: Lake, at: str = "latest") -> dict[str, pa.Table]:
    """Every audit over every conversation of a snapshot, and every table opened; what offends, by audit."""
    snapshot = lake.snapshot(at)
    missing = sorted(missing_pins(snapshot))
    if missing:
        return {"missing_files": pa.table({"table": missing})}
    everything = snapshot.read("conversations", columns=["corpus", "conversation_id"])
    return run_audits(lake, snapshot, everything)


def _audit_vectors(snapshot: Snapshot, audited: pa.Table) -> dict[str, pa.Table]:
    """Vectors of audited conversations whose unit is missing or that stand twice; no unit without its vector row."""
    found: dict[str, pa.Table] = {}
    wanted = pc.unique(audited["conversation_id"])
    for name in snapshot.lance_tables():
        dataset = snapshot.lance_table(name)
        if dataset is None:
            continue
        rows = dataset.to_table(columns=["unit_id", "corpus", "conversation_id"])
        rows = rows.filter(pc.is_in(rows["conversation_id"], value_set=wanted))
        counted = rows.group_by(["corpus", "unit_id"]).aggregate([([], "count_all")])
        twice = counted.filter(pc.greater(counted["count_all"], 1))
        if twice.num_rows:
            found[f"vector_keys_{name}"] = twice.slice(0, SHOWN_ROWS)
        representation = name.split("__", 1)[0]
        where = (pc.field("representation") == representation) & pc.field("conversation_id").isin(wanted)
        units = snapshot.read("units", columns=["corpus", "unit_id"], where=where)
        lost = counted.join(units, ["corpus", "unit_id"], join_type="left anti")
        if lost.num_rows:
            found[f"vectors_without_unit_{name}"] = lost.slice(0, SHOWN_ROWS)
    return found
