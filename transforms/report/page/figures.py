"""The figures of a page: against tokens, and by category."""

from itertools import chain

from markupsafe import Markup

from memlake.transforms.report.data.document import Document, Row
from memlake.transforms.report.page import html
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Dot, dot_chart

# Figures shown at once; the others are folded up.
_OPEN = 3
# Rows from which on a chart is folded up: it is looked things up in, not read.
_LONG = 60


def curves(document: Document) -> Markup:
    """Each metric against the tokens that contexts really hold."""
    made = [_curve(document, place, curve) for place, curve in enumerate(document["curves"])]
    first, rest = made[:_OPEN], made[_OPEN:]
    return html.section(
        "curves",
        "Against evidence tokens",
        html.remark(
            "x is the mean number of tokens that a context really holds, not the budget that it was allowed. Dotted lines are "
            "bounds: chance shows what a context of that size gives without any search. Survival is not accuracy.",
        ),
        *(first or [html.empty("No cell has a context that ends at a token budget, so there is nothing to draw.")]),
        html.folded(f"{len(rest)} further figures", *rest) if rest else None,
    )


def _curve(document: Document, place: int, curve: Row) -> Markup:
    corpus, metric = curve["corpus"], curve["metric"]
    judge = f", judge {curve['judge']}" if curve["judge"] else ""
    title = f"{html.metric_name(metric)}, {corpus}"
    shown = html.looks(document, corpus)
    lines = [Line(line["cell"], _points(line), shown[line["cell"]], line["control"]) for line in curve["lines"]]
    points = [point for line in lines for point in line.points]
    about = f"{metric}, labels {curve['label_set']}{judge}; {html.counted(points)}"
    columns: html.Columns = {
        "cell": "cell",
        "budget": lambda point: f"{point['cutoff']:,}",
        "tokens shown": lambda point: f"{point['tokens']:,.0f}",
        "mean": lambda point: html.share(point["value"], metric),
        **html.COUNTED,
    }
    return html.figure(
        document["run"],
        title,
        f"{about}. Upright bars are 95 % intervals.{html.named_only(document, corpus)}",
        line_chart(f"curve-{place}", title, about, lines, Axes("evidence tokens shown (mean)", metric)),
        html.numbers(title, columns, points),
    )


def _points(line: Row) -> list[Row]:
    cell = line["cell"]
    return [
        {
            **point,
            "cell": cell,
            "x": point["tokens"],
            "title": f"{cell}: {html.share(point['value'])} at {point['tokens']:,.0f} tokens",
        }
        for point in line["points"]
    ]


def categories(document: Document) -> Markup:
    """Each cell's mean by the questions' category."""
    made = [_categories(document, place, found) for place, found in enumerate(document["categories"])]
    said = "The benchmark's own categories. Nothing here is corrected for how many of them are looked at."
    return html.section(
        "categories",
        "By category",
        html.remark(said),
        *(made or [html.empty("No corpus has more than one category at the headline's measure.")]),
    )


def _categories(document: Document, place: int, of_corpus: Row) -> Markup:
    """The cells that have a place in the chart, and all of them in its table."""
    corpus, at = of_corpus["corpus"], of_corpus["at"]
    shown = html.looks(document, corpus)
    by_category: dict[str, list[Row]] = {}
    for cell in of_corpus["cells"]:
        of_cell = {"cell": cell["cell"], "control": cell["control"], "name": html.cell_name(cell, at)}
        for row in cell["categories"]:
            by_category.setdefault(row["category"], []).append(row | of_cell)
    dots: list[Dot] = []
    for category, rows in by_category.items():
        said = html.counted(rows)
        if all(row["value"] is None for row in rows):
            dots.append(Dot(f"category {category}: no number ({said})"))
            continue
        dots.append(Dot(f"category {category} ({said})"))
        drawn = [row for row in rows if shown[row["cell"]] is not None]
        dots += [Dot(row["name"], row, shown[row["cell"]], row["control"]) for row in drawn]
    title = f"{html.metric_name(at['metric'])} by category, {corpus}"
    about = f"{html.at_name(at)}. Bars are 95 % intervals."
    if None in shown.values():
        about += f" Of {len(shown)} cells the compared pair, the highest and lowest, and the bounds; the table has all."
    columns: html.Columns = {
        "category": "category",
        "cell": "name",
        "mean": lambda row: html.share(row["value"]),
        **html.COUNTED,
        "conversations": "clusters",
    }
    made = html.figure(
        document["run"],
        title,
        about,
        dot_chart(f"category-{place}", title, html.at_name(at), dots, x=at["metric"], differences=False),
        html.numbers(title, columns, chain.from_iterable(by_category.values()), words=("cell",)),
    )
    if len(dots) <= _LONG:
        return made
    return html.folded(f"{title} ({len(by_category)} categories)", made)
