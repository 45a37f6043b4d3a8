"""`memlake probes`: synthetic conversations with questions whose evidence is known, because it was planted."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memlake.flows.cli.options import AsJson, Quiet
from memlake.flows.cli.printing import output, table


def probes(
    out: Annotated[Path, Parameter(help="Folder that the files are written into; other files there stay.")],
    /,
    *,
    seed: Annotated[int, Parameter(help="The same seed and settings write the same bytes.")] = 7,
    conversations: Annotated[int, Parameter(help="Conversations of each file.")] = 40,
    turns: Annotated[int, Parameter(help="Turns of a conversation, at least 20.")] = 60,
    fit: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="Share of facts told as the typed artifact schema holds them, 0 to 1; repeat it, or separate by commas.",
        ),
    ] = ("0.5",),
    split: Annotated[str, Parameter(help="Templates to draw from: test or train.")] = "test",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write conversations with planted facts, near misses and questions, a file for each fit.

    A greater fit tells some of the same facts in the schema's shape; every other turn and every question stays.
    """
    from memlake.flows.probes import ProbesSettings, fits_of
    from memlake.flows.probes import probes as flow

    made = flow(ProbesSettings(str(out), seed, conversations, turns, fits_of(fit), split))
    if as_json:
        output.document(made)
        return
    if quiet:
        return
    files = made["files"]
    assert isinstance(files, list)
    table.show_rows([{name: value for name, value in row.items() if name != "by_category"} for row in files])
    output.say(f"next: memlake ingest {shlex.quote(str(out))} --corpus probes")
