"""Markup that escapes by default, the parts that sections share, and numbers and names as a page prints them."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

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
# Cells up to which each has its own colour and label: more of them cannot be distinguished.
MOST = 12
_HIGHEST = 3
_NONE = "none"


def metric_name(metric: str) -> str:
    """A metric in words; one without a card by its name."""
    return METRICS[metric].title if metric in METRICS else metric


def cutoff_name(at: Mapping[str, Any]) -> str:
    """The cutoff of a measure, or of a row, in words."""
    cutoff = f"{at['cutoff']:,}"
    return {"tokens": f"{cutoff} tokens", "k": f"first {cutoff} units"}.get(at["cutoff_kind"], "the store")


def at_name(at: Mapping[str, Any]) -> str:
    """A measure in one line."""
    judge = f", judge {at['judge']}" if at["judge"] else ""
    return f"{at['metric']} at {cutoff_name(at)}, labels {at['label_set']}{judge}"


def cell_name(row: Mapping[str, Any], at: Mapping[str, Any]) -> str:
    """A cell, and the cutoff at which it is shown where that is not the measure's own."""
    if (row["cutoff_kind"], row["cutoff"]) == (at["cutoff_kind"], at["cutoff"]):
        return str(row["cell"])
    return f"{row['cell']}, {cutoff_name(row)}"


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


# Signs that a page would not show: controls, marks that reorder a line, spaces of no width. A line break and a tab stay,
# and so do the joiners that emoji and several scripts need.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
# From so many signs on a value is a sentence, and gets a column that it can be read in.
_SENTENCE = 26


def text(value: object) -> Markup:
    """A value as escaped text; signs that cannot be seen are written as their code point."""
    return escape(_HIDDEN.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", str(value)))


def join(*children: object) -> Markup:
    """Children one after another: markup as it stands, None as nothing, everything else as text."""
    parts = (child if isinstance(child, Markup) else text(child) for child in children if child is not None)
    return Markup("".join(parts))  # noqa: S704 - made of escaped parts


def el(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is class, other '_' are '-'; an attribute of None or False is left out, True stands alone."""
    return Markup(f"{void(name, **attributes)}{join(*children)}</{name}>")  # noqa: S704 - made of escaped parts


def void(name: str, /, **attributes: object) -> Markup:
    """An element that has no end tag."""
    listed = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    return Markup(f"<{name}{''.join(listed)}>")  # noqa: S704 - made of escaped parts


def data_block(identifier: str, json: str) -> Markup:
    """JSON in a script element that runs nothing and that no text in it can end."""
    for sign in "<>&\u2028\u2029":
        json = json.replace(sign, f"\\u{ord(sign):04x}")
    return el("script", Markup(json), type="application/json", id=identifier)  # noqa: S704 - none of its signs is left


def section(identifier: str, title: str, *children: object) -> Markup:
    """A section that a link can name."""
    return el("section", el("h2", title, id=f"{identifier}-title"), *children, id=identifier)


# By header, what a table prints of a row: what a key holds, or what a function makes of the row.
Columns = Mapping[str, str | Callable[[Any], object]]
COUNTED: Columns = {"95 % interval": interval, "n": "n", "excluded": "excluded"}


def table(caption: str, columns: Columns, rows: Iterable[Any], *, words: Collection[str] = ()) -> Markup:
    """A table that scrolls in its own box; the first column heads its row and is text, as are those in `words`."""
    texts = [next(iter(columns)), *words]

    def cell(row: Any, name: str) -> Markup:
        of = columns[name]
        value = row[of] if isinstance(of, str) else of(row)
        css = "n" if name not in texts else "long" if len(str(value)) > _SENTENCE else "name"
        return el("th", value, scope="row", class_=css) if name == texts[0] else el("td", value, class_=css)

    head = el("tr", *(el("th", name, scope="col", class_=None if name in texts else "n") for name in columns))
    body = [el("tr", *(cell(row, name) for name in columns)) for row in rows]
    made = el("table", el("caption", caption), el("thead", head), el("tbody", *body))
    return el("div", made, class_="wide", tabindex="0", role="group", aria_label=f"{caption} (scrolls sideways)")


def numbers(caption: str, columns: Columns, rows: Iterable[Any], *, words: Collection[str] = ()) -> Markup:
    """The table of a chart's numbers, folded up."""
    return folded("The numbers", table(caption, columns, rows, words=words), class_="numbers")


def folded(summary: str, *children: object, **attributes: object) -> Markup:
    """What is shown when its summary is clicked."""
    return el("details", el("summary", summary), *children, **attributes)


def figure(run: Mapping[str, Any], title: str, about: str, *children: object, recounted: bool = False) -> Markup:
    """A chart under its title, of what its numbers are, and which questions it counts (see `includes`)."""
    said = about + includes(run, recounted=recounted)
    return el("figure", el("figcaption", title, el("small", said)), *children)


def notes(said: Sequence[str]) -> Markup | None:
    """Notes, each once; None without any."""
    listed = list(dict.fromkeys(filter(None, said)))
    return el("ul", *(el("li", note) for note in listed), class_="notes") if listed else None


def remark(*children: object) -> Markup:
    """A paragraph that says how to read what it stands beside."""
    return el("p", *children, class_="say")


def empty(said: str) -> Markup:
    """What stands where there is nothing to show."""
    return el("p", said, class_="empty")
