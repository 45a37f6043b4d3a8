"""Numbers and names as a page prints them, and which cells a chart names: of many the pair, bounds, highest and lowest."""

from collections.abc import Iterable, Mapping
from typing import Any

from memlake.schemas.metrics import METRICS
from memlake.transforms.report.data.document import Document

# In the order in which an answer may be lost; `unclassified` is a wrong verdict that `losses` has no row of.
LOSSES = {
    "correct": "correct",
    "not_in_source": "not in the source",
    "not_stored": "not stored",
    "not_retrieved": "stored, not retrieved",
    "packed_out": "retrieved, packed out",
    "misread": "shown, misread",
    "failed_abstention": "should have abstained",
    "unclassified": "wrong, not classified",
}
CONTROLS = {
    "random": "chance",
    "gold": "gold turns only",
    "full": "everything, latest first out",
    "nothing": "question alone",
}
# Cells up to which each has its own colour and label: more of them cannot be told apart.
MOST = 12
_HIGHEST = 3
_NONE = "none"


def metric_name(metric: str) -> str:
    """A metric in words; one without a card by its name."""
    return METRICS[metric].title if metric in METRICS else metric


def cutoff_name(kind: str, cutoff: int) -> str:
    """A cutoff in words."""
    return {"tokens": f"{cutoff:,} tokens", "k": f"first {cutoff:,} units"}.get(kind, "the store")


def at_name(at: Mapping[str, Any]) -> str:
    """A measure in one line."""
    judge = f", judge {at['judge']}" if at["judge"] else ""
    return f"{at['metric']} at {cutoff_name(at['cutoff_kind'], at['cutoff'])}, labels {at['label_set']}{judge}"


def cell_name(row: Mapping[str, Any], at: Mapping[str, Any]) -> str:
    """A cell, and the cutoff at which it is shown where that is not the measure's own."""
    if (row["cutoff_kind"], row["cutoff"]) == (at["cutoff_kind"], at["cutoff"]):
        return str(row["cell"])
    return f"{row['cell']}, {cutoff_name(row['cutoff_kind'], row['cutoff'])}"


def includes(run: Mapping[str, Any], *, recounted: bool) -> str:
    """Which questions a figure counts, where conversations were forgotten since; nothing where none were.

    Args:
        recounted: whether it was counted now, from rows that are left; else it was made by the run.
    """
    if run["forgotten"] <= 0:
        return ""
    if recounted:
        left = run["questions"] - run["forgotten"]
        return f" Counts the {left:,} questions that are left of {run['questions']:,}; the others were forgotten since."
    return f" Counts all {run['questions']:,} questions of the run, {run['forgotten']:,} of them forgotten since."


def share(value: float | None, metric: str = "") -> str:
    """A share as three digits without the zero, as tables of results print it."""
    if value is None:
        return _NONE
    if abs(value) > 1 or (metric in METRICS and METRICS[metric].highest > 1):
        return f"{value:,.2f}".replace("-", "\u2212")
    return f"{value:.3f}".replace("0.", ".", 1).replace("-", "\u2212")


def signed(value: float | None) -> str:
    """A difference with its sign."""
    if value is None:
        return _NONE
    return ("+" if value > 0 else "") + share(value)


def interval(row: Mapping[str, Any]) -> str:
    """A number's interval; 'no interval' where it has none."""
    low, high = row["low"], row["high"]
    return "no interval" if low is None or high is None else f"[{share(low)}, {share(high)}]"


def p_value(p: float | None) -> str:
    """A p value; small ones by their order of magnitude."""
    if p is None:
        return _NONE
    return f"{p:.3f}".replace("0.", ".", 1) if p >= 0.001 else f"{p:.1e}".replace("-", "\u2212")


def counted(rows: Iterable[Mapping[str, Any]]) -> str:
    """N and what is excluded from it, of some numbers, each once."""
    said = (f"n {row['n']:,}" + (f", {row['excluded']:,} excluded" if row["excluded"] else "") for row in rows)
    return "; ".join(dict.fromkeys(said))


def plain_note(note: str | None) -> str:
    """A note without the word that names it for programs."""
    if not note:
        return ""
    return "; ".join(part.partition(": ")[2] or part for part in note.split("; "))


def looks(document: Document, corpus: str) -> dict[str, int | None]:
    """For each cell of a corpus its place among the colours and marks; None for one that is drawn faint, without a label."""
    means = [row for row in document["headline"]["means"] if row["corpus"] == corpus]
    everywhere = list(dict.fromkeys(row["cell"] for row in document["headline"]["means"]))
    if len(everywhere) <= MOST:
        # The same on every corpus, so that a reader may go from one figure to the next.
        return {row["cell"]: everywhere.index(row["cell"]) for row in means}
    if len(means) <= MOST:
        return {row["cell"]: place for place, row in enumerate(means)}
    pair = [
        cell for pair in document["headline"]["compared"] if pair["corpus"] == corpus for cell in (pair["a"], pair["b"])
    ]
    known = [row for row in means if row["value"] is not None and not row["control"]]
    ranked = [row["cell"] for row in sorted(known, key=lambda row: -row["value"])]
    bounds = [row["cell"] for row in means if row["control"]]
    named = list(dict.fromkeys([*pair, *ranked[:_HIGHEST], *ranked[-1:], *bounds]))
    return {row["cell"]: named.index(row["cell"]) if row["cell"] in named else None for row in means}


def named_only(document: Document, corpus: str) -> str:
    """What a caption says of the cells that are named; nothing where all are."""
    shown = looks(document, corpus)
    if None not in shown.values():
        return ""
    return (
        f" Of {len(shown)} cells the compared pair and the highest and lowest by the headline are in colour, the bounds in dark "
        "grey, the others pale; the table has all."
    )
