"""The section on losses: verdicts by where each wrong answer was lost, and answers by what is stored and shown of them."""

from typing import Any

from markupsafe import Markup

from memlake.transforms.report.data.document import Document, Row
from memlake.transforms.report.page.charts_rows import Bar, bar_chart
from memlake.transforms.report.page.html import el, empty, figure, notes, numbers, paragraph, section
from memlake.transforms.report.page.words import LOSSES, at_name, cell_name, counted, cutoff_name, share

# What the split counts, with the class of a loss whose colour it has, and what it is called.
_SPLIT = {
    "shown": ("correct", "every word is in the context"),
    "stored_not_shown": ("not_retrieved", "in the store, not in the context"),
    "not_stored": ("not_stored", "not in the store"),
}


def losses(document: Document) -> Markup:
    """Where answers are lost: by verdict, or without a reader by what is stored and shown."""
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in document["losses"]:
        place = tuple(row[name] for name in ("corpus", "cutoff_kind", "cutoff", "judge", "label_set"))
        alike.setdefault(place, []).append(row)
    bars = [_loss_figure(document, place, rows) for place, rows in enumerate(alike.values())]
    corpora = dict.fromkeys(row["corpus"] for row in document["survival_split"])
    return section(
        "losses",
        "Where answers are lost",
        paragraph(
            "A wrong answer is lost at the first place at which a word of the gold answer is missing: in the source, in the "
            "store, among the candidates, in the context; else the reader had every word. Words decide it, not evidence: a turn may be shown and a word of the "
            "gold answer stand nowhere in it. Shares are of all verdicts, the correct ones among them.",
            css="say",
        ),
        *(bars or [empty("No reader answered in this run, so there are no wrong answers to explain.")]),
        *(_split(document, place, corpus) for place, corpus in enumerate(corpora)),
    )


def _loss_figure(document: Document, place: int, rows: list[Row]) -> Markup:
    first = rows[0]
    classes = {name: said for name, said in LOSSES.items() if any(row["counts"].get(name) for row in rows)}
    bars = [
        Bar(
            row["cell"],
            [(name, row["counts"].get(name, 0) / row["judged"]) for name in classes] if row["judged"] else [],
            f"n {row['judged']:,}",
        )
        for row in rows
    ]
    title = f"Verdicts of judge {first['judge']}, {first['corpus']}"
    excluded = "; ".join(dict.fromkeys(f"{row['excluded']:,} without a verdict" for row in rows))
    about = f"{cutoff_name(first['cutoff_kind'], first['cutoff'])}, labels {first['label_set']}; per cent; {excluded}"
    listed = [
        (
            row["cell"],
            *(row["counts"].get(name, 0) for name in classes),
            row["judged"],
            row["excluded"],
            row["disputed"],
        )
        for row in rows
    ]
    return figure(
        document["run"],
        title,
        f"{about}.",
        bar_chart(f"loss-{place}", title, about, bars, classes),
        numbers(title, ("cell", *classes.values(), "n", "no verdict", "disputed"), listed),
        recounted=True,
    )


def _split(document: Document, place: int, corpus: str) -> Markup:
    rows = [row for row in document["survival_split"] if row["corpus"] == corpus]
    here = [row for row in rows if not row["why"]]
    title = f"Answers whose words are stored and shown, {corpus}"
    left_out = notes([f"{row['cell']} is left out: {row['why']}" for row in rows if row["why"]])
    if not here:
        return el("figure", el("figcaption", title, el("small", "No cell can be split.")), left_out)
    lead, at = document["headline"]["at"], here[0]["at"]
    if (lead["cutoff_kind"], lead["cutoff"]) in [(row["at"]["cutoff_kind"], row["at"]["cutoff"]) for row in here]:
        at = {**at, "cutoff_kind": lead["cutoff_kind"], "cutoff": lead["cutoff"]}
    about = f"No reader's part. {at_name(at)}; {counted(here)}"
    named = [(row, cell_name({**row["at"], "cell": row["cell"]}, at)) for row in here]
    bars = [Bar(name, [(css, row[key]) for key, (css, _) in _SPLIT.items()], f"n {row['n']:,}") for row, name in named]
    listed = [(name, *(share(row[key]) for key in _SPLIT), row["n"], row["excluded"]) for row, name in named]
    return figure(
        document["run"],
        title,
        f"{about}. Per cent.",
        bar_chart(f"split-{place}", title, about, bars, dict(_SPLIT.values())),
        left_out,
        numbers(title, ("cell", *(said for _, said in _SPLIT.values()), "n", "excluded"), listed),
        recounted=True,
    )
