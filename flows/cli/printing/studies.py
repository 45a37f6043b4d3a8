"""What a run of a study did and found, told to a person: lines, and tables with a column a budget."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memlake.flows.cli.printing import output, table
from memlake.schemas.metrics import METRICS, Metric

if TYPE_CHECKING:
    from memlake.transforms.evaluate.means import Mean, Means

_PLACE = ("corpus", "cell", "metric", "judge", "label_set", "cutoff_kind", "cutoff")
_DIFFERENCE = (
    "corpus", "cell_a", "cell_b", "metric", "cutoff_kind", "cutoff", "judge", "n", "value", "low", "high", "p",
)  # fmt: skip
_GATE = (
    "corpus", "cell", "metric", "cutoff", "category", "stated", "tolerance", "measured", "n", "passed", "why",
)  # fmt: skip


def ran(made: Mapping[str, Any]) -> None:
    """Tell what `memlake study run` did."""
    excluded = ", ".join(f"{count} {reason}" for reason, count in made["excluded"].items()) or "none"
    output.say(f"{made['study']}: {made['questions']:,} questions in {made['cells']} cells, {made['seconds']:.1f} s")
    output.say(f"not scored by some metric: {excluded}")
    _empty_contexts(made.get("empty_contexts", ()))
    for cell, pairs in made.get("cut_for_reranker", {}).items():
        output.say(f"{cell}: {pairs:,} pairs of question and unit were longer than its reranker takes, and cut there")
    if "answers" in made:
        output.say(f"{made['answers']:,} answers, {made['judgements']:,} verdicts")
    if models := made.get("models"):
        price = "price unknown" if models["price_usd"] is None else f"{models['price_usd']:,.4f} US dollars"
        output.say(f"models: {models['calls']:,} calls, {models['cached']:,} from the cache, {price}")
    output.say(f"snapshot {made['snapshot_id']} holds the rows, read from {made['read_snapshot_id']}")
    output.say(f"next: memlake report {made['run_id']} --out report.html")


def note_forgotten(made: Mapping[str, Any], *, quiet: bool) -> None:
    """Note the questions that a run left out because their conversations were forgotten."""
    if forgotten := made["excluded"].get("forgotten"):
        output.note(
            f"{forgotten:,} questions are left out: the snapshot that was read still holds their conversations, which "
            "were forgotten since",
            quiet=quiet,
        )


def shown(found: "Means") -> None:
    """Show a run's means, what was excluded, and published numbers beside ours."""
    output.say(f"{found['study']} on {', '.join(found['corpora'])}, run {found['run_id']}")
    for title, rows in layout(found):
        output.say()
        table.show_rows(rows, title=title)
    if found["published"]:
        output.say()
        table.show_rows(found["published"], title="Beside published numbers")
    output.say()
    if found["forgotten"]:
        output.say(f"gone since: {found['forgotten']:,} of {found['questions']:,} questions, with their conversations")
    for reason, number in _excluded(found).items():
        output.say(f"excluded: {number:,} questions, {reason}")
    _empty_contexts(found["empty_contexts"])
    output.say("every metric: memlake sql --file score-means")


def compared(found: Mapping[str, Any], a: str, b: str) -> None:
    """Show how two runs, or cells of them, differ."""
    output.say(f"a: {a} (read from {found['a']['read_snapshot_id']})")
    output.say(f"b: {b} (read from {found['b']['read_snapshot_id']})")
    for pair in found["settings"]:
        for name, held in pair["differ"].items():
            against = " against ".join(map(json.dumps, held))
            output.say(f"{pair['cell_a']} and {pair['cell_b']} differ in {name}: {against}")
    rows = [row for row in found["differences"] if row["statistic"] == "difference"]
    output.say()
    table.show_rows([{name: row[name] for name in _DIFFERENCE} for row in rows], title="Differences, a - b")
    if changed := found["changed_questions"]:
        output.say(f"left out: {changed:,} questions that read or are answered otherwise in the two snapshots")
    for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
        output.say(note)


def gates(made: Mapping[str, Any]) -> None:
    """Show each gate of a study with what was measured."""
    rows = [{name: row[name] for name in _GATE} for row in made["gates"]]
    table.show_rows(rows, title=f"Gates of {made['study']}")


def layout(found: "Means") -> list[tuple[str, list[dict[str, object]]]]:
    """The means as tables to read: a title, and a row a cell (and category) with a column a budget."""
    tables = []
    for corpus, label_set, judge in dict.fromkeys(
        (row["corpus"], row["label_set"], row["judge"]) for row in found["means"]
    ):
        for card in sorted(_tabled(), key=lambda card: card.table or 0):
            key = (card.name, corpus, label_set, judge)
            rows = [
                row for row in found["means"] if (row["metric"], row["corpus"], row["label_set"], row["judge"]) == key
            ]
            if rows:
                under = [card.name, f"labels: {label_set}", *([f"judge: {judge}"] if judge else [])]
                on = f" on {corpus}" if len(found["corpora"]) > 1 else ""
                tables.append((f"{card.title}{on} ({', '.join(under)})", _wide(rows)))
    return tables


def _tabled() -> list[Metric]:
    """The metrics that have a table; the headline first: recall of a summary is generous by construction, survival is not."""
    return [card for card in METRICS.values() if card.table is not None]


def _wide(rows: "Sequence[Mean]") -> list[dict[str, object]]:
    """A line a cell and category, with every budget that any of them has; n and excluded last."""
    rows = sorted(rows, key=lambda row: (row["cutoff_kind"] == "k", row["cutoff"]))
    budgets: dict[str, object] = dict.fromkeys(map(_budget, rows))
    lines: dict[tuple[str, str | None], list[Mean]] = {}
    for row in rows:
        lines.setdefault((row["cell"], row["category"]), []).append(row)
    return [
        {
            "cell": cell,
            **({} if category is None else {"category": category}),
            **(budgets | {_budget(row): row["mean"] for row in line}),
            **{name: _range([row[name] for row in line]) for name in ("n", "excluded")},
        }
        for (cell, category), line in lines.items()
    ]


def _budget(row: "Mean") -> str:
    at = row["cutoff"]
    return {"tokens": f"{at:,} tokens", "k": f"first {at}", "none": "store"}[row["cutoff_kind"]]


def _range(counts: Sequence[int]) -> int | str:
    """A range where readers or judges failed at one budget and not at another."""
    least, most = min(counts), max(counts)
    return least if least == most else f"{least} to {most}"


def _excluded(found: "Means") -> dict[str, int]:
    """Questions that a metric of the layout could not score, by reason: of each corpus the most in any cell at any cutoff."""
    tabled = {card.name for card in _tabled()}
    sums, most, by_reason = Counter[tuple[Any, ...]](), Counter[tuple[str, str]](), Counter[str]()
    for row in found["means"]:
        for reason, number in (row["reasons"] or {}).items() if row["metric"] in tabled else ():
            sums[reason, *(row[name] for name in _PLACE)] += number
    for (reason, corpus, *_), number in sums.items():
        most[reason, corpus] = max(most[reason, corpus], number)
    for (reason, _), number in sorted(most.items()):
        by_reason[reason] += number
    return dict(by_reason)


def _empty_contexts(rows: Sequence[Mapping[str, Any]]) -> None:
    """Say where a budget shows nothing at all: a mean over such contexts is one of packing, not of what was stored."""
    if not rows:
        return
    worst = sorted(rows, key=lambda row: -row["empty"] / row["contexts"])[:3]
    where = "; ".join(
        f"{row['empty']:,} of {row['contexts']:,} of {row['corpus']}/{row['cell']} at {row['cutoff']:,} tokens"
        for row in worst
    )
    more = f"; and {len(rows) - 3} more cells and budgets" if len(rows) > 3 else ""
    output.say(f"empty contexts, whose first unit is longer than the budget, or which found none: {where}{more}")
