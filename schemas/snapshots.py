"""snapshots: the published versions of the whole lake."""

import pyarrow as pa

from memlake.schemas.table import INT, STRING, TIME, Table, column

PIN = pa.struct(
    [
        pa.field("table", STRING, nullable=False),
        pa.field("location", STRING, nullable=False),
        pa.field("version", INT, nullable=False),
    ]
)

SNAPSHOTS = Table(
    name="snapshots",
    grain="a published version of the lake: the version of every table in it",
    key=("snapshot_id",),
    columns=(
        column("snapshot_id", STRING, "new at every attempt to publish"),
        column("sequence", INT, "the order of publishing; the highest is the latest"),
        column("created_at", TIME, "when it was published"),
        column("base_snapshot_id", STRING, "the snapshot that it was made from; null for the first", null=True),
        column("run_id", STRING, "the run that published it"),
        column("operation", STRING, "ingest, represent, embed, study, restore, forget"),
        column("pins", pa.list_(pa.field("element", PIN, nullable=False)), "table, location and version of each table"),
    ),
)
