"""The figures of a page: against tokens, and by category."""

from memlake.transforms.report.data.document import Document, Row
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Dot, dot_chart
from memlake.transforms.report.page.html import Markup, el
from memlake.transforms.report.page.looks import looks, named_only
from memlake.transforms.report.page.parts import caption, empty, numbers, paragraph, section
from memlake.transforms.report.page.words import at_name, cell_name, counted, includes, interval, metric_name, share

# Figures shown at once; the others are folded up.
_OPEN = 3
# Rows from which on a chart is folded up: it is looked things up in, not read.
_LONG = 60


def curves(document: Document) -> Markup:
    """Each metric against the tokens that contexts really hold."""
    made = [_curve(document, place, one) for place, one in enumerate(document["curves"])]
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


def _curve(document: Document, place: int, one: Row) -> Markup:
    judge = f", judge {one['judge']}" if one["judge"] else ""
    title = f"{metric_name(one['metric'])}, {one['corpus']}"
    points = [point for line in one["lines"] for point in line["points"]]
    said = "; ".join(dict.fromkeys(counted(point) for point in points))
    about = f"{one['metric']}, labels {one['label_set']}{judge}; {said}"
    shown = looks(document, one["corpus"])
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
        for line in one["lines"]
    ]
    rows = [
        (
            line["cell"],
            f"{point['cutoff']:,}",
            f"{point['tokens']:,.0f}",
            share(point["value"], one["metric"]),
            interval(point["low"], point["high"]),
            point["n"],
            point["excluded"],
        )
        for line in one["lines"]
        for point in line["points"]
    ]
    return el(
        "figure",
        caption(
            title,
            f"{about}. Upright bars are 95 % intervals.{named_only(document, one['corpus'])}"
            f"{includes(document['run'], recounted=False)}",
        ),
        line_chart(f"curve-{place}", title, about, lines, Axes("evidence tokens shown (mean)", one["metric"])),
        numbers(title, ("cell", "budget", "tokens shown", "mean", "95 % interval", "n", "excluded"), rows),
    )


def categories(document: Document) -> Markup:
    """Each cell's mean by the questions' category."""
    made = [_categories(document, place, one) for place, one in enumerate(document["categories"])]
    said = "The benchmark's own categories. Nothing here is corrected for how many of them are looked at."
    return section(
        "categories",
        "By category",
        paragraph(said, css="say"),
        *(made or [empty("No corpus has more than one category at the headline's measure.")]),
    )


def _categories(document: Document, place: int, one: Row) -> Markup:
    """The cells that have a place in the chart, and all of them in its table."""
    at, shown = one["at"], looks(document, one["corpus"])
    found = [(cell, cell_name(cell, at), row) for cell in one["cells"] for row in cell["categories"]]
    dots: list[Dot] = []
    for category in dict.fromkeys(row["category"] for _, _, row in found):
        here = [(cell, name, row) for cell, name, row in found if row["category"] == category]
        said = "; ".join(dict.fromkeys(counted(row) for _, _, row in here))
        if all(row["value"] is None for _, _, row in here):
            dots.append(Dot(f"category {category}: no number ({said})"))
            continue
        dots += [
            Dot(f"category {category} ({said})"),
            *(
                Dot(name, row, shown[cell["cell"]], cell["control"])
                for cell, name, row in here
                if shown[cell["cell"]] is not None
            ),
        ]
    names = list(dict.fromkeys(row["category"] for _, _, row in found))
    rows = [
        (row["category"], name, share(row["value"]), interval(row["low"], row["high"]), row["n"], row["excluded"], row["clusters"])
        for _, name, row in sorted(found, key=lambda each: names.index(each[2]["category"]))
    ]  # fmt: skip
    title = f"{metric_name(at['metric'])} by category, {one['corpus']}"
    about = f"{at_name(at)}. Bars are 95 % intervals."
    if None in shown.values():
        about += f" Of {len(shown)} cells the compared pair, the highest and lowest, and the bounds; the table has all."
    headers = ("category", "cell", "mean", "95 % interval", "n", "excluded", "conversations")
    made = el(
        "figure",
        caption(title, about + includes(document["run"], recounted=False)),
        dot_chart(f"category-{place}", title, at_name(at), dots, x=at["metric"], differences=False),
        numbers(title, headers, rows, words=(0, 1)),
    )
    if len(dots) <= _LONG:
        return made
    return el("details", el("summary", f"{title} ({len(names)} categories)"), made)
