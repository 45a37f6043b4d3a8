"""`memlake forget`: a conversation out of every table."""

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import ForgetSettings, Quiet


@configured
def forget(settings: ForgetSettings, *, quiet: Quiet = False) -> None:
    """Publish a snapshot without a conversation, which no later ingest brings back; older snapshots still hold it."""
    from memlake.flows.forget import forget as flow

    made = flow(settings)
    if output.document(made) or quiet:
        return
    removed = made["removed"]
    assert isinstance(removed, dict)
    table.show_rows([{"table": name, "removed": rows} for name, rows in removed.items()])
    output.say(f"snapshot {made['snapshot_id']} is without it; older snapshots, and tags on them, still hold it")
