"""`memlake demo`: the whole path on built-in transcripts, and its result in plain words."""

import shlex
import tempfile
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from memlake.flows.cli.options import configured
from memlake.flows.cli.printing import output, table
from memlake.flows.run.settings import DemoSettings
from memlake.transforms.evaluate.demo_findings import CORPUS, REPORT, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH = 80


@configured
def demo(
    settings: DemoSettings,
    *,
    prefect: Annotated[
        bool,
        Parameter(negative="--no-prefect", help="Run as a Prefect flow; without, in line and some ten seconds faster."),
    ] = True,
) -> None:
    """Ingest the built-in transcripts, store them in three ways, ask 100 questions, and show what each way kept."""
    from memlake.flows.demo import demo as flow
    from memlake.flows.run.adapter import run_flow

    chosen = replace(settings, lake=settings.lake or tempfile.mkdtemp(prefix="memlake-demo-"))
    made = run_flow(flow, chosen, name="demo", prefect=prefect, quiet=settings.quiet)
    if not output.document(made) and not settings.quiet:
        _tell(made)


def _tell(made: "Mapping[str, Any]") -> None:
    """The table and how to read it."""
    kept = made["kept"]
    budgets = list(kept[0]["in_context"])
    excluded = ", ".join(f"{count} {reason}" for reason, count in kept[0]["excluded"].items()) or "none"
    _paragraph(
        f"{made['conversations']} conversations ({made['sessions']} sessions, {made['turns']} turns) are stored in three "
        f"ways. {made['questions']} questions were asked of each store: which share of the answers can it still give?"
    )
    table.show(
        ["stored as", "what is stored", "units", "kept", *(f"{budget} tokens" for budget in budgets), "gold turns"],
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
    output.say(f"n = {kept[0]['n']} in every cell; excluded: {excluded}. No language model took part.")
    output.say()
    output.say("kept         answers of which every word is still somewhere in the store")
    output.say("N tokens     answers of which every word is in the N tokens shown to a reader")
    output.say(f"gold turns   turns holding an answer that those {budgets[-1]} tokens were made from")
    _read_aloud(made)
    where = f"--lake {shlex.quote(made['lake'])}"
    output.say("Next:")
    output.say(f"  memlake search 'when are hoses allowed' --corpus {CORPUS} {where}")
    output.say(f"  memlake sql --file {REPORT} --param representation={SUMMARY} --param tokens={budgets[-1]} {where}")
    output.say("  memlake ingest YOUR.jsonl --corpus mine")


def _read_aloud(made: "Mapping[str, Any]") -> None:
    """The table in words, with one answer that was lost."""
    whole, summary = made["kept"][0], made["kept"][-1]
    output.say()
    _paragraph(
        f"The text kept whole holds {_percent(whole['in_store'])} of the answers. The summary has "
        f"{_percent(summary['characters'] / made['characters'])} of the transcripts' characters and holds "
        f"{_percent(summary['in_store'])} of the answers: what was not stored, no retrieval brings back. Its {_percent(summary['gold_turns'])} under gold turns only says that it was "
        "made from the right turns, not that it kept what they say."
    )
    lost = made["lost"]
    if lost is None:
        return
    output.say(f"One answer that it lost, and the words that went ({', '.join(lost['words'])}):")
    output.say()
    for label, text in (("question", "question"), ("answer", "answer"), ("in the chat", "said"), ("summary", "kept")):
        lines = textwrap.wrap(lost[text], WIDTH - 16)
        output.say("\n".join([f"  {label:<12}  {lines[0]}", *(f"{'':16}{line}" for line in lines[1:])]))
    output.say()


def _paragraph(text: str) -> None:
    output.say(textwrap.fill(text, WIDTH))
    output.say()


def _percent(share: float) -> str:
    return f"{share:.0%}"
