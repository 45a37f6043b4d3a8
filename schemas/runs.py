"""runs: what was executed."""

from memlake.schemas.table import FLOAT, STRING, TIME, Table, column

RUNS = Table(
    name="runs",
    grain="the start or the end of a flow run",
    key=("run_id", "event"),
    journal=True,
    columns=(
        column("run_id", STRING, "the run"),
        column("event", STRING, "started or ended"),
        column("flow", STRING, "ingest, represent, embed, study, ..."),
        column("logged_at", TIME, "when it was written"),
        column("code_version", STRING, "the memlake version"),
        column("settings", STRING, "the effective configuration as JSON"),
        column("settings_hash", STRING, "128-bit blake2b of settings"),
        column("outcome", STRING, "running, published, unchanged, failed, refused", null=True),
        column("snapshot_id", STRING, "the snapshot that it published", null=True),
        column("counters", STRING, "rows by table and outcome as JSON", null=True),
        column("seconds", FLOAT, "wall-clock seconds of the run", null=True),
    ),
)
