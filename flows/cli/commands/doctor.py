"""`memlake doctor`: is everything here, how is it configured, and how is the lake."""

from dataclasses import asdict

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.config import Configuration
from memlake.flows.run.settings import LakeSettings


@configured
def doctor(
    lake: LakeSettings,  # noqa: ARG001 - the option; its value is in the configuration
    *,
    configuration: Configuration,
) -> None:
    """Print versions, settings with their origins, tools, the lake's state, and what is wrong."""
    from memlake.flows.run.doctor import check

    found = check(configuration)
    if output.document(asdict(found)):
        return
    for title, facts in (
        ("Versions", found.versions),
        ("Tools", found.tools),
        ("Lake", found.lake),
        ("Models", found.models),
        ("DuckDB", found.duckdb),
    ):
        if not facts:
            continue
        table.show(["", ""], [(name, _shown(value)) for name, value in facts.items()], title=title)
        output.say()
    if found.vectors:
        table.show_rows(found.vectors, title="Vectors")
        output.say()
    settings = [{**row, "value": _shown(row["value"])} for row in found.settings]
    table.show_rows(settings, title="Settings")
    output.say()
    for problem in found.problems:
        output.say(f"problem: {problem}")
    if not found.problems:
        output.say("no problem found")


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
