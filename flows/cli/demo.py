"""`memlake demo`: the whole path on built-in transcripts, and its result in plain words."""

import tempfile
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from flows.cli import output, table
from flows.cli.options import AsJson, Quiet, run

if TYPE_CHECKING:
    from collections.abc import Mapping


def demo(
    *,
    lake: Annotated[
        str | None, Parameter(help="Folder of the lake (default: a new temporary one, which stays).")
    ] = None,
    prefect: Annotated[
        bool,
        Parameter(negative="--no-prefect", help="Run as a Prefect flow; without, in line and some ten seconds faster."),
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Ingest the built-in transcripts, store them in three ways, ask 100 questions, and show what each way kept."""
    from flows.demo.flow import DemoSettings
    from flows.demo.flow import demo as flow

    chosen = DemoSettings(lake or tempfile.mkdtemp(prefix="memlake-demo-"), quiet=quiet)
    made = run(flow, chosen, name="demo", prefect=prefect)
    if as_json:
        output.document(made)
    elif not quiet:
        _tell(made)


def _tell(made: "Mapping[str, Any]") -> None:
    kept = made["kept"]
    output.say(
        f"{made['conversations']} conversations in {made['sessions']} sessions, {made['turns']} turns, stored in three ways; "
        f"{made['questions']} questions asked of each."
    )
    output.say()
    budgets = list(kept[0]["in_context"])
    columns = ["representation", "what it stores", "units", "still in store"]
    columns += [*(f"in {budget} tokens" for budget in budgets), "gold turns"]
    table.show(
        columns,
        [
            [
                row["representation"],
                row["stores"],
                row["units"],
                *(_percent(share) for share in (row["in_store"], *row["in_context"].values(), row["gold_turns"])),
            ]
            for row in kept
        ],
    )
    output.say()
    excluded = ", ".join(f"{count} {reason}" for reason, count in kept[0]["excluded"].items()) or "none"
    output.say(f"n = {kept[0]['n']} questions a row; excluded: {excluded}. No language model took part.")
    output.say("still in store: answers of which every word is somewhere in the stored units")
    output.say("in N tokens: answers of which every word is in the N tokens that retrieval would show a reader")
    output.say(f"gold turns: turns that hold an answer, found within {budgets[-1]} tokens")
    output.say()
    _read_aloud(made)
    output.say("\nNext:")
    where = f"--lake {made['lake']}"
    output.say(f"  memlake search 'when are hoses allowed' --corpus demo {where}")
    output.say(f"  memlake sql --file survival-by-category --param tokens={budgets[-1]} {where}")
    output.say("  memlake ingest YOUR.jsonl --corpus mine")


def _read_aloud(made: "Mapping[str, Any]") -> None:
    """The table in words, with one answer that was lost."""
    whole, summary = made["kept"][0], made["kept"][-1]
    output.say(
        f"The text kept whole still holds {_percent(whole['in_store'])} of the answers. The summary is "
        f"{summary['characters'] / whole['characters']:.0%} of its size and holds {_percent(summary['in_store'])}: "
        "what it does not store, no retrieval brings back."
    )
    lost = made["lost"]
    if lost is None:
        return
    output.say("One that it lost:\n")
    rows = [
        ("asked", lost["question"]),
        ("answer", lost["answer"]),
        ("said", lost["said"]),
        ("summary", lost["kept"]),
        ("words lost", ", ".join(lost["words"])),
    ]
    table.show(["", ""], rows)


def _percent(share: float) -> str:
    return f"{share:.0%}"
