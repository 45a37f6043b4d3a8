"""`memlake forget`: a conversation out of every table."""

from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import AsJson, Corpus, LakeUri, LockTimeout, Quiet, settings
from memlake.flows.cli.printing import output, table


def forget(
    conversation: Annotated[str, Parameter(help="The conversation's id.")],
    /,
    *,
    corpus: Corpus,
    lock_timeout: LockTimeout = None,
    lake: LakeUri = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Publish a snapshot without a conversation, which no later ingest brings back; older snapshots still hold it."""
    chosen = settings(lake=lake, lock_timeout=lock_timeout)
    from memlake.flows.forget import ForgetSettings
    from memlake.flows.forget import forget as flow

    made = flow(ForgetSettings(chosen.lake, corpus, conversation, chosen.lock_timeout))
    if as_json:
        output.document(made)
        return
    if quiet:
        return
    removed = made["removed"]
    assert isinstance(removed, dict)
    table.show_rows([{"table": name, "removed": rows} for name, rows in removed.items()])
    output.say(f"snapshot {made['snapshot_id']} is without it; older snapshots, and tags on them, still hold it")
