"""The figures of a page: against tokens, by category, losses, costs."""

from typing import Any

from flows.report.charts_lines import Axes, Line, line_chart
from flows.report.charts_rows import Bar, Dot, bar_chart, dot_chart
from flows.report.html import Markup, el
from flows.report.parts import empty, numbers, paragraph, section, table
from flows.report.words import (
    LOSSES,
    at_name,
    cell_name,
    counted,
    cutoff_name,
    interval,
    metric_name,
    plain_note,
    share,
)
from transforms.report.document import Document, Row
from transforms.report.losses import LOSSES as LOSS_ORDER

# Figures shown at once; the others are folded up.
_OPEN = 3
_PRICES = (
    "Dollars are US dollars by the prices of the requests when they were sent, whatever a cache saved since; 'none' is what was "
    "not asked of a model or what nobody knows. What judging costs is no part of a memory and stands apart."
)
# The costs that stand beside a cell's score; every other one is in the folded table.
_SUMMARY = (
    ("tokens_read_per_question", "tokens read a question"),
    ("usd_read_per_question", "dollars a question"),
    ("usd_write", "dollars of writing"),
    ("usd_per_1000_correct", "dollars per 1,000 correct"),
    ("usd_per_1000_correct_with_write", "with writing"),
    ("seconds_local", "seconds here"),
)


def curves(document: Document) -> Markup:
    """Each metric against the tokens that contexts really hold."""
    made = [_curve(place, one) for place, one in enumerate(document["curves"])]
    first, rest = made[:_OPEN], made[_OPEN:]
    return section(
        "curves",
        "Against evidence tokens",
        paragraph(
            "x is the mean number of tokens that a context really holds, not the budget that it was allowed. Grey lines are "
            "bounds: chance shows what a context of that size gives without any search. Survival is not accuracy.",
            css="say",
        ),
        *(first or [empty("No cell has a context that ends at a token budget, so there is nothing to draw.")]),
        el("details", el("summary", f"{len(rest)} further figures"), *rest) if rest else None,
    )


def _curve(place: int, one: Row) -> Markup:
    judge = f", judge {one['judge']}" if one["judge"] else ""
    title = f"{metric_name(one['metric'])}, {one['corpus']}"
    points = [point for line in one["lines"] for point in line["points"]]
    said = "; ".join(dict.fromkeys(counted(point) for point in points))
    about = f"{one['metric']}, labels {one['label_set']}{judge}; {said}"
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
            number,
            line["control"],
        )
        for number, line in enumerate(one["lines"])
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
        el("figcaption", title, el("small", f"{about}. Upright bars are 95 % intervals.")),
        line_chart(f"curve-{place}", title, about, lines, Axes("evidence tokens shown (mean)", one["metric"])),
        numbers(title, ("cell", "budget", "tokens shown", "mean", "95 % interval", "n", "excluded"), rows),
    )


def categories(document: Document) -> Markup:
    """Each cell's mean by the questions' category."""
    made = []
    for place, one in enumerate(document["categories"]):
        names = list(dict.fromkeys(row["category"] for cell in one["cells"] for row in cell["categories"]))
        found = [(cell, number, row) for number, cell in enumerate(one["cells"]) for row in cell["categories"]]
        dots: list[Dot] = []
        for name in names:
            here = [(cell, number, row) for cell, number, row in found if row["category"] == name]
            said = "; ".join(dict.fromkeys(counted(row) for _, _, row in here))
            dots += [
                Dot(f"category {name} ({said})"),
                *(Dot(cell["cell"], row, n, cell["control"]) for cell, n, row in here),
            ]
        title = f"{metric_name(one['at']['metric'])} by category, {one['corpus']}"
        rows = [
            (row["category"], cell["cell"], share(row["value"]), interval(row["low"], row["high"]), row["n"], row["excluded"], row["clusters"])
            for cell, _, row in sorted(found, key=lambda each: names.index(each[2]["category"]))
        ]  # fmt: skip
        made.append(
            el(
                "figure",
                el("figcaption", title, el("small", f"{at_name(one['at'])}. Bars are 95 % intervals.")),
                dot_chart(
                    f"category-{place}", title, at_name(one["at"]), dots, x=one["at"]["metric"], differences=False
                ),
                numbers(
                    title,
                    ("category", "cell", "mean", "95 % interval", "n", "excluded", "conversations"),
                    rows,
                    words=(0, 1),
                ),
            )
        )
    said = "The benchmark's own categories. Nothing here is corrected for how many of them are looked at."
    return section(
        "categories",
        "By category",
        paragraph(said, css="say"),
        *(made or [empty("No corpus has more than one category at the headline's measure.")]),
    )


def losses(document: Document) -> Markup:
    """Where answers are lost: by verdict, or without a reader by what is stored and shown."""
    bars = [_loss_figure(place, rows) for place, rows in enumerate(_alike(document["losses"]))]
    split = _split_figures(document["survival_split"])
    return section(
        "losses",
        "Where answers are lost",
        paragraph(
            "A wrong answer is lost at the first place at which a word of the gold answer is missing: in the source, in the "
            "store, among the candidates, in the context; else the reader had every word. Shares are of all verdicts, the "
            "correct ones among them.",
            css="say",
        ),
        *(bars or [empty("No reader answered in this run, so there are no wrong answers to explain.")]),
        *split,
    )


def _alike(rows: list[Row]) -> list[list[Row]]:
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        place = tuple(row[name] for name in ("corpus", "cutoff_kind", "cutoff", "judge", "label_set"))
        grouped.setdefault(place, []).append(row)
    return list(grouped.values())


def _loss_figure(place: int, rows: list[Row]) -> Markup:
    first = rows[0]
    classes = [name for name in ("correct", *LOSS_ORDER) if any(row["counts"].get(name) for row in rows)]
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
    rows_of = [
        (
            row["cell"],
            *(row["counts"].get(name, 0) for name in classes),
            row["judged"],
            row["excluded"],
            row["disputed"],
        )
        for row in rows
    ]
    return el(
        "figure",
        el("figcaption", title, el("small", f"{about}.")),
        bar_chart(f"loss-{place}", title, about, bars, {name: LOSSES.get(name, name) for name in classes}),
        numbers(title, ("cell", *(LOSSES.get(name, name) for name in classes), "n", "no verdict", "disputed"), rows_of),
    )


def _split_figures(rows: list[Row]) -> list[Markup]:
    classes = {
        "correct": "every word is in the context",
        "not_retrieved": "in the store, not in the context",
        "not_stored": "not in the store",
    }
    keys = {"correct": "shown", "not_retrieved": "stored_not_shown", "not_stored": "not_stored"}
    made = []
    for place, corpus in enumerate(dict.fromkeys(row["corpus"] for row in rows)):
        here = [row for row in rows if row["corpus"] == corpus]
        title = f"Answers whose words are stored and shown, {corpus}"
        about = f"No reader's part. {at_name(here[0]['at'])}; " + "; ".join(dict.fromkeys(counted(row) for row in here))
        bars = [Bar(row["cell"], [(name, row[key]) for name, key in keys.items()], f"n {row['n']:,}") for row in here]
        table_rows = [
            (row["cell"], *(share(row[key]) for key in keys.values()), row["n"], row["excluded"]) for row in here
        ]
        made.append(
            el(
                "figure",
                el("figcaption", title, el("small", f"{about}. Per cent.")),
                bar_chart(f"split-{place}", title, about, bars, classes),
                numbers(title, ("cell", *classes.values(), "n", "excluded"), table_rows),
            )
        )
    return made


def costs(document: Document) -> Markup:
    """Cost against accuracy where dollars are known, and every cost on record."""
    found, at = document["costs"], document["headline"]["at"]
    made = []
    for place, corpus in enumerate(dict.fromkeys(point["corpus"] for point in found["points"])):
        points = [point for point in found["points"] if point["corpus"] == corpus]
        if points[0]["x"] == "evidence_tokens":
            said = f"{corpus}: no dollars are on record, so what reading costs is evidence tokens; see the figures against tokens."
            made.append(paragraph(said))
            continue
        title = f"{metric_name(at['metric'])} against cost, {corpus}"
        about = f"{at_name(at)}; " + "; ".join(dict.fromkeys(counted(point) for point in points))
        lines = [
            Line(point["cell"], [{**point, "x": point["cost"]}], number, point["control"])
            for number, point in enumerate(points)
        ]
        axes = Axes("US dollars of reading a question (mean)", at["metric"], log_x=False)
        made.append(
            el(
                "figure",
                el("figcaption", title, el("small", f"{about}. Upright bars are 95 % intervals.")),
                line_chart(f"cost-{place}", title, about, lines, axes),
            )
        )
    rows = found["rows"]
    return section(
        "costs",
        "Cost",
        *made,
        paragraph(_PRICES, css="say"),
        *(_cost_summary(document, corpus) for corpus in document["run"]["corpora"]),
        _cost_table(rows) if rows else empty("This run's statistics hold no costs."),
    )


def _cost_summary(document: Document, corpus: str) -> Markup:
    """A row a cell: what it gets right at the headline's measure, and what that costs."""
    at = document["headline"]["at"]
    tokens = {
        (line["cell"], point["cutoff_kind"], point["cutoff"]): point["tokens"]
        for curve in document["curves"]
        if curve["corpus"] == corpus
        for line in curve["lines"]
        for point in line["points"]
    }
    said = []
    for row in document["headline"]["means"]:
        place = (row["cell"], row["cutoff_kind"], row["cutoff"])
        if row["corpus"] == corpus:
            said.append(
                (
                    cell_name(row, at),
                    f"{share(row['value'], at['metric'])} {interval(row['low'], row['high'])}",
                    row["n"],
                    row["excluded"],
                    f"{tokens[place]:,.0f}" if place in tokens else "none",
                    *(_cost(document, row, statistic) for statistic, _ in _SUMMARY),
                )
            )
    headers = ("cell", at["metric"], "n", "excluded", "evidence tokens", *(name for _, name in _SUMMARY))
    return table(f"Cost by cell, {corpus}; {at_name(at)}", headers, said)


def _cost(document: Document, mean: Row, statistic: str) -> str:
    """A cost of a cell at the cutoff of its mean, or of the cell as a whole; by the same judge where one counts."""
    for row in document["costs"]["rows"]:
        where = row["cutoff_kind"] == "none" or all(row[name] == mean[name] for name in ("cutoff_kind", "cutoff"))
        mine = (row["cell"], row["statistic"]) == (mean["cell"], statistic) and row["corpus"] in ("", mean["corpus"])
        if mine and where and row["judge"] in ("", mean["judge"]):
            ends = f" [{_amount(row['low'])}, {_amount(row['high'])}]" if row["low"] is not None else ""
            return f"{_amount(row['value'])}{ends}"
    return "none"


def _cost_table(rows: list[Row]) -> Markup:
    said = [
        (
            row["cell"],
            row["statistic"],
            _amount(row["value"]),
            f"[{_amount(row['low'])}, {_amount(row['high'])}]" if row["low"] is not None else "no interval",
            row["n"],
            row["excluded"],
            row["corpus"],
            "" if row["cutoff_kind"] == "none" else cutoff_name(row["cutoff_kind"], row["cutoff"]),
            row["judge"],
            plain_note(row["note"]),
        )
        for row in rows
    ]
    headers = ("cell", "cost", "value", "95 % interval", "n", "excluded", "corpus", "at", "judge", "note")
    return numbers("Every cost on record", headers, said, words=(0, 1, 6, 7, 8, 9))


def _amount(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"
