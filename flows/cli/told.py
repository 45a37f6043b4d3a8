"""What a pipeline did, told to a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from flows.cli import output, table
from flows.config import lake_flag


def landed(made: Mapping[str, Any], *, lake: str, corpus: str, as_json: bool, quiet: bool) -> None:
    """Tell what ingest, represent or embed did: what was seen, which rows changed, what died, which snapshot holds it."""
    if as_json:
        output.document(made)
    elif not quiet:
        _tell(made, lake, corpus)


def _tell(made: Mapping[str, Any], lake: str, corpus: str) -> None:
    seen = made.get("seen", {})
    counts = [
        f"{seen[name]:,} {name}" for name in ("conversations", "sessions", "turns", "questions") if seen.get(name)
    ]
    if counts:
        output.say(f"read {', '.join(counts)}")
    if invalid := sum(made.get("evidence_invalid", {}).values()):
        output.say(f"{invalid:,} evidence ids name no turn: kept, marked, and left out of scores")
    if made.get("skipped"):
        output.say(f"{made['skipped']:,} conversations unchanged")
    if made.get("counts"):
        table.show_rows([{"table": name, **rows} for name, rows in made["counts"].items()])
    for reason, number in made.get("dead_letters", {}).items():
        output.say(f"dead letters: {number:,} {reason} (memlake tables show dead_letters{lake_flag(lake)})")
    stale = made.get("stale", ())
    for name in stale:
        how = _remedy(name, stale, lake, corpus)
        output.say(f"{name} was made of what changed and is removed; to have it again: {how}")
    if made.get("dry_run"):
        output.say("dry run: nothing was written")
    if made.get("snapshot_id"):
        output.say(f"snapshot {made['snapshot_id']} published in {made['seconds']:.1f} s")
    elif "snapshot_id" in made:
        output.say(f"nothing new, no snapshot published, {made['seconds']:.1f} s")


def _remedy(name: str, stale: Sequence[str], lake: str, corpus: str) -> str:
    from flows.cli.remedies import remedy

    return remedy(name, among=stale, corpus=corpus, lake=lake)
