"""The figures of a page: against tokens, and by category."""

from markupsafe import Markup

from memlake.transforms.report.data.document import Document, Row
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Dot, dot_chart
from memlake.transforms.report.page.html import (
    at_name,
    cell_name,
    counted,
    el,
    empty,
    figure,
    interval,
    looks,
    metric_name,
    named_only,
    numbers,
    paragraph,
    section,
    share,
)

# Figures shown at once; the others are folded up.
_OPEN = 3
# Rows from which on a chart is folded up: it is looked things up in, not read.
_LONG = 60


def curves(document: Document) -> Markup:
    """Each metric against the tokens that contexts really hold."""
    made = [_curve(document, place, curve) for place, curve in enumerate(document["curves"])]
    first, rest = made[:_OPEN], made[_OPEN:]
    return section(
        "curves",
        "Against evidence tokens",
        paragraph(
            "x is the mean number of tokens that a context really holds, not the budget that it was allowed. Dotted lines are "
            "bounds: chance shows what a context of that size gives without any search. Survival is not accuracy.",
            css="say",
        ),
        *(first or [empty("No cell has a context that ends at a token budget, so there is nothing to draw.")]),
        el("details", el("summary", f"{len(rest)} further figures"), *rest) if rest else None,
    )


def _curve(document: Document, place: int, curve: Row) -> Markup:
    corpus, metric = curve["corpus"], curve["metric"]
    judge = f", judge {curve['judge']}" if curve["judge"] else ""
    title = f"{metric_name(metric)}, {corpus}"
    found = [(line, point) for line in curve["lines"] for point in line["points"]]
    about = f"{metric}, labels {curve['label_set']}{judge}; {counted(point for _, point in found)}"
    shown = looks(document, corpus)
    lines = [
        Line(
            line["cell"],
            [
                {
                    **point,
                    "x": point["tokens"],
                    "title": f"{line['cell']}: {share(point['value'])} at {point['tokens']:,.0f} tokens",
                }
                for point in line["points"]
            ],
            shown[line["cell"]],
            line["control"],
        )
        for line in curve["lines"]
    ]
    rows = [
        (
            line["cell"], f"{point['cutoff']:,}", f"{point['tokens']:,.0f}", share(point["value"], metric), interval(point),
            point["n"], point["excluded"],
        )
        for line, point in found
    ]  # fmt: skip
    return figure(
        document["run"],
        title,
        f"{about}. Upright bars are 95 % intervals.{named_only(document, corpus)}",
        line_chart(f"curve-{place}", title, about, lines, Axes("evidence tokens shown (mean)", metric)),
        numbers(title, ("cell", "budget", "tokens shown", "mean", "95 % interval", "n", "excluded"), rows),
    )


def categories(document: Document) -> Markup:
    """Each cell's mean by the questions' category."""
    made = [_categories(document, place, found) for place, found in enumerate(document["categories"])]
    said = "The benchmark's own categories. Nothing here is corrected for how many of them are looked at."
    return section(
        "categories",
        "By category",
        paragraph(said, css="say"),
        *(made or [empty("No corpus has more than one category at the headline's measure.")]),
    )


def _categories(document: Document, place: int, of_corpus: Row) -> Markup:
    """The cells that have a place in the chart, and all of them in its table."""
    corpus, at = of_corpus["corpus"], of_corpus["at"]
    shown = looks(document, corpus)
    found = [(cell, cell_name(cell, at), row) for cell in of_corpus["cells"] for row in cell["categories"]]
    names = list(dict.fromkeys(row["category"] for _, _, row in found))
    dots: list[Dot] = []
    for category in names:
        here = [(cell, name, row) for cell, name, row in found if row["category"] == category]
        said = counted(row for _, _, row in here)
        if all(row["value"] is None for _, _, row in here):
            dots.append(Dot(f"category {category}: no number ({said})"))
            continue
        dots.append(Dot(f"category {category} ({said})"))
        dots += [
            Dot(name, row, shown[cell["cell"]], cell["control"])
            for cell, name, row in here
            if shown[cell["cell"]] is not None
        ]
    rows = [
        (row["category"], name, share(row["value"]), interval(row), row["n"], row["excluded"], row["clusters"])
        for _, name, row in sorted(found, key=lambda each: names.index(each[2]["category"]))
    ]
    title = f"{metric_name(at['metric'])} by category, {corpus}"
    about = f"{at_name(at)}. Bars are 95 % intervals."
    if None in shown.values():
        about += f" Of {len(shown)} cells the compared pair, the highest and lowest, and the bounds; the table has all."
    headers = ("category", "cell", "mean", "95 % interval", "n", "excluded", "conversations")
    made = figure(
        document["run"],
        title,
        about,
        dot_chart(f"category-{place}", title, at_name(at), dots, x=at["metric"], differences=False),
        numbers(title, headers, rows, words=(0, 1)),
    )
    if len(dots) <= _LONG:
        return made
    return el("details", el("summary", f"{title} ({len(names)} categories)"), made)
