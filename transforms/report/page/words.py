"""Numbers and names as a page prints them."""

from collections.abc import Mapping
from typing import Any

METRICS = {
    "judge_accuracy": "Answers that a judge calls correct",
    "judge_accuracy_published": "Answers called correct, as published scorers count",
    "token_f1": "Words shared by answer and gold answer (F1)",
    "multiple_choice_accuracy": "Choices that are the right one",
    "answer_survival_all": "Answers of which every word is in the context",
    "answer_survival_share": "Share of the answer's words in the context",
    "evidence_recall_fraction": "Gold turns that the context touches",
    "store_survival_all": "Answers of which every word is in the store",
}
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
_NONE = "none"
# Of no share: rouge and F1 are, BLEU is 0 to 100.
_PLAIN = frozenset({"bleu"})


def metric_name(metric: str) -> str:
    """A metric in words; one without words by its name."""
    return METRICS.get(metric, metric)


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
    if metric in _PLAIN or abs(value) > 1:
        return f"{value:,.2f}".replace("-", "\u2212")
    return f"{value:.3f}".replace("0.", ".", 1).replace("-", "\u2212")


def signed(value: float | None) -> str:
    """A difference with its sign."""
    if value is None:
        return _NONE
    return ("+" if value > 0 else "") + share(value)


def interval(low: float | None, high: float | None) -> str:
    """An interval; 'no interval' where there is none."""
    return "no interval" if low is None or high is None else f"[{share(low)}, {share(high)}]"


def p_value(p: float | None) -> str:
    """A p value; small ones by their order of magnitude."""
    if p is None:
        return _NONE
    return f"{p:.3f}".replace("0.", ".", 1) if p >= 0.001 else f"{p:.1e}".replace("-", "\u2212")


def counted(one: Mapping[str, Any]) -> str:
    """N and what is excluded from it."""
    return f"n {one['n']:,}" + (f", {one['excluded']:,} excluded" if one["excluded"] else "")


def plain_note(note: str | None) -> str:
    """A note without the word that names it for programs."""
    if not note:
        return ""
    return "; ".join(part.partition(": ")[2] or part for part in note.split("; "))
