"""`memlake probes`: synthetic conversations with questions whose evidence is known, because it was planted."""

import shlex

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import ProbesSettings, Quiet


@configured
def probes(settings: ProbesSettings, *, quiet: Quiet = False) -> None:
    """Write conversations with planted facts, near misses and questions, a file for each fit.

    A greater fit tells some of the same facts in the schema's shape; every other turn and every question stays.
    """
    from memlake.flows.probes import probes as flow

    made = flow(settings)
    if output.document(made) or quiet:
        return
    files = made["files"]
    assert isinstance(files, list)
    table.show_rows([{name: value for name, value in row.items() if name != "by_category"} for row in files])
    output.say(f"next: memlake ingest {shlex.quote(settings.out)} --corpus probes")
