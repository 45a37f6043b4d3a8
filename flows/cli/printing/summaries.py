"""What a pipeline did, told to a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from memlake.flows.cli.printing import output, table
from memlake.flows.run.config import lake_flag
from memlake.flows.run.settings import PipelineSettings


def landed(made: Mapping[str, Any], settings: PipelineSettings) -> None:
    """Tell what ingest, represent or embed did: what was seen, which rows changed, what died, which snapshot holds it."""
    if not output.document(made) and not settings.quiet:
        _tell(made, settings.lake, settings.corpus)


def priced(made: Mapping[str, Any]) -> None:
    """Tell what would be asked of models, and what that would cost."""
    if output.document(made):
        return
    for row in made["representations"]:
        output.say(f"{row['representation']} by {row['model']}: {row['conversations']:,} conversations lack it")
        _asked(row)
    _notes(made["representations"])


def study_priced(made: Mapping[str, Any]) -> None:
    """Tell what a study lacks, what would be asked of models for it, and what that would cost."""
    if output.document(made):
        return
    output.say(
        f"{made['study']}: {made['questions']:,} questions in {made['cells']} cells on {', '.join(made['corpora'])}"
    )
    for row in made["representations"]:
        lacking = "" if row["state"] == "stored" else f", {row['conversations']:,} conversations: {row['next']}"
        output.say(f"{row['representation']} of {row['corpus']}: {row['state']}{lacking}")
        _asked(row)
    if embedding := made["embedding"]:
        output.say(f"embedding by {embedding['model']}")
        _asked(embedding)
    for row in made["answering"]:
        output.say(f"{row['what']} on {row['corpus']}" if "corpus" in row else f"{row['what']}: {row['state']}")
        _asked(row)
    _notes([*made["representations"], *([embedding] if embedding else []), *made["answering"]])
    output.say(f"in all: {made['calls']:,} calls, {_dollars(made['price_low'], made['price_high'])}")


def _asked(row: Mapping[str, Any]) -> None:
    """What would be asked for a row, where anything would."""
    if "calls" not in row:
        return
    texts = f", {row['texts']:,} texts" if "texts" in row else ""
    output.say(f"  calls       {row['calls']:,}{texts} (and {row['cached']:,} that the cache answers)")
    output.say(f"  tokens in   {row['tokens_in']:,} by {row['tokeniser']}")
    if "tokens_out_low" in row:
        output.say(f"  tokens out  {row['tokens_out_low']:,} to {row['tokens_out_high']:,}")
    output.say(f"  price       {_dollars(row['price_low'], row['price_high'])}")
    for model in row["unpriced"]:
        output.say(f"  {model} has no price: give one with --prices FILE, 0 for a model of your own")


def _notes(rows: Sequence[Mapping[str, Any]]) -> None:
    """What the numbers mean, each note once."""
    for note in dict.fromkeys(row["note"] for row in rows if "note" in row):
        output.say(note)


def _dollars(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "unknown"
    shown = dict.fromkeys((f"{low:,.4f}", f"{high:,.4f}"))
    return f"{' to '.join(shown)} US dollars"


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
    if pieces := made.get("pieces"):
        output.say(
            f"a model was to represent {pieces['asked']:,} pieces; {pieces['failed']:,} failed, "
            f"so {pieces['turns_failed']:,} turns are not covered"
        )
    if models := made.get("models"):
        price = "price unknown" if models["price_usd"] is None else f"{models['price_usd']:,.4f} US dollars"
        output.say(
            f"models: {models['calls']:,} calls, {models['cached']:,} from the cache, "
            f"{models['tokens_in']:,} tokens in, {models['tokens_out']:,} out, {price}"
        )
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
    from memlake.flows.cli.printing.remedies import remedy

    return remedy(name, among=stale, corpus=corpus, lake=lake)
