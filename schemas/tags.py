"""tags: names that people give to snapshots."""

from memlake.schemas.table import STRING, TIME, Table, column

TAGS = Table(
    name="tags",
    grain="a name for a snapshot",
    key=("tag",),
    columns=(
        column("tag", STRING, "the name"),
        column("snapshot_id", STRING, "the snapshot that it names"),
        column("created_at", TIME, "when it was given"),
    ),
)
