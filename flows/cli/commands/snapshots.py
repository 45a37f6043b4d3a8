"""`memlake snapshots`: the published versions of a lake, what changed between two, names for them, and going back."""

from typing import Annotated

from cyclopts import App, Parameter

from memlake.flows.cli.catalogue import epilogue
from memlake.flows.cli.options import configured, open_for_reading
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import LakeSettings, Quiet, WriteSettings

app = App(name="snapshots", help_epilogue=epilogue("snapshots"))

Snapshot = Annotated[str, Parameter(help="latest, an id, or a tag.")]


@app.command(name="ls")
@configured
def ls(lake: LakeSettings) -> None:
    """List the snapshots, oldest first, with their tags."""
    from memlake.transforms.lake.query.inventory import snapshots_of

    rows = snapshots_of(open_for_reading(lake))
    if output.document(rows):
        return
    if not rows:
        output.say("no snapshot yet: memlake ingest SOURCE --corpus NAME publishes the first")
        return
    table.show_rows([{**row, "tags": ", ".join(row["tags"])} for row in rows])


@app.command(name="diff")
@configured
def diff(old: Snapshot, new: Snapshot = "latest", /, *, lake: LakeSettings) -> None:
    """Say what changed from one snapshot to another: rows by table, and conversation parts."""
    from memlake.transforms.lake.query.inventory import difference

    found = difference(open_for_reading(lake), old, new)
    if output.document(found):
        return
    output.say(f"from {found['old']} to {found['new']}")
    if not found["tables"]:
        output.say("nothing changed")
        return
    table.show_rows(found["tables"])
    if found["parts"]:
        output.say()
        table.show_rows(found["parts"])


@app.command(name="tag")
@configured
def tag(
    name: Annotated[str, Parameter(help="The tag; it moves when another snapshot has it.")],
    snapshot: Snapshot = "latest",
    /,
    *,
    write: WriteSettings,
    quiet: Quiet = False,
) -> None:
    """Give a snapshot a name that every --at accepts, and that clean-up spares."""
    tagged = open_for_reading(write).tag(name, snapshot, lock_timeout_s=write.lock_timeout_s)
    if not output.document({"tag": name, "snapshot_id": tagged.snapshot_id}):
        output.note(f"{name} names snapshot {tagged.snapshot_id}", quiet=quiet)


@app.command(name="restore")
@configured
def restore(
    snapshot: Snapshot,
    /,
    *,
    write: WriteSettings,
    quiet: Quiet = False,
) -> None:
    """Publish an earlier snapshot's tables as a new snapshot; nothing is deleted, so it can be undone alike."""
    import secrets

    from memlake.transforms.lake.commit.publish import restore as publish_again

    opened = open_for_reading(write)
    restored = opened.snapshot(snapshot)
    made = publish_again(opened, snapshot, run_id=secrets.token_hex(8), lock_timeout_s=write.lock_timeout_s)
    document = {"snapshot_id": made.snapshot_id, "base_snapshot_id": made.base_snapshot_id}
    if not output.document({**document, "restored_snapshot_id": restored.snapshot_id}):
        output.note(f"snapshot {made.snapshot_id} holds the tables of {restored.snapshot_id}", quiet=quiet)
