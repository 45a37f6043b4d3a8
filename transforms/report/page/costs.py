"""The section on costs: cost against the headline, each cell's costs beside its score, and every cost on record."""

from markupsafe import Markup

from memlake.transforms.report.data.document import Document, Row
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.html import empty, figure, numbers, paragraph, section, table
from memlake.transforms.report.page.words import (
    at_name,
    cell_name,
    counted,
    cutoff_name,
    includes,
    interval,
    looks,
    metric_name,
    named_only,
    plain_note,
    share,
)

_PRICES = (
    "Dollars are US dollars by the prices of the requests when they were sent, whatever a cache saved since; 'none' is what was "
    "not asked of a model, what nobody knows, or what is not of this measure. What judging costs is no part of a memory and "
    "stands apart."
)
# The costs that stand beside a cell's score, where any cell has them; every other one is in the folded table.
_SUMMARY = {
    "tokens_read_per_question": "tokens read a question",
    "usd_read_per_question": "dollars a question",
    "usd_write": "dollars of writing",
    "usd_per_1000_correct": "dollars per 1,000 correct",
    "usd_per_1000_correct_with_write": "with writing",
    "seconds_local": "seconds here",
}


def costs(document: Document) -> Markup:
    """Cost against accuracy where dollars are known, and every cost on record."""
    found = document["costs"]
    corpora = dict.fromkeys(point["corpus"] for point in found["points"])
    dollars = {point["corpus"] for point in found["points"] if point["x"] != "evidence_tokens"}
    return section(
        "costs",
        "Cost",
        *(_chart(document, place, corpus) for place, corpus in enumerate(corpora) if corpus in dollars),
        *(
            paragraph(
                f"{corpus}: no dollars are on record, so what reading costs is evidence tokens, as in the figures above."
            )
            for corpus in corpora
            if corpus not in dollars
        ),
        paragraph(_PRICES, includes(document["run"], recounted=False), css="say"),
        *(_summary(document, corpus) for corpus in document["run"]["corpora"]),
        _cost_table(found["rows"]) if found["rows"] else empty("This run's statistics hold no costs."),
    )


def _chart(document: Document, place: int, corpus: str) -> Markup:
    points = [point for point in document["costs"]["points"] if point["corpus"] == corpus]
    at = {**document["headline"]["at"], "judge": points[0]["judge"]}
    shown = looks(document, corpus)
    title = f"{metric_name(at['metric'])} against cost, {corpus}"
    about = f"{at_name(at)}; {counted(points)}"
    lines = [
        Line(cell_name(point, at), [{**point, "x": point["cost"]}], shown[point["cell"]], point["control"])
        for point in points
    ]
    axes = Axes("US dollars of reading a question (mean)", at["metric"], log_x=False)
    return figure(
        document["run"],
        title,
        f"{about}. Upright bars are 95 % intervals.{named_only(document, corpus)}",
        line_chart(f"cost-{place}", title, about, lines, axes),
    )


def _summary(document: Document, corpus: str) -> Markup | None:
    """A row a cell: what it gets right at the headline's measure, and what that costs at the same."""
    cells = [cell for cell in document["costs"]["cells"] if cell["corpus"] == corpus]
    if not cells:
        return None
    at = {**document["headline"]["at"], "judge": cells[0]["judge"]}
    known = [name for name in _SUMMARY if any(cell["costs"][name]["value"] is not None for cell in cells)]
    headers = ("cell", at["metric"], "n", "excluded", "evidence tokens", *(_SUMMARY[name] for name in known))
    rows = [
        (
            cell_name(cell, at),
            f"{share(cell['mean']['value'], at['metric'])} {interval(cell['mean'])}",
            f"{cell['mean']['n']:,}",
            f"{cell['mean']['excluded']:,}",
            "none" if cell["evidence_tokens"] is None else f"{cell['evidence_tokens']:,.0f}",
            *(f"{_amount(cell['costs'][name]['value'])}{_ends(cell['costs'][name], ' ')}" for name in known),
        )
        for cell in cells
    ]
    return table(f"Cost by cell, {corpus}; {at_name(at)}", headers, rows)


def _cost_table(rows: list[Row]) -> Markup:
    said = [
        (
            row["cell"],
            row["statistic"],
            _amount(row["value"]),
            _ends(row) or "no interval",
            row["n"],
            row["excluded"],
            row["corpus"],
            "" if row["cutoff_kind"] == "none" else cutoff_name(row["cutoff_kind"], row["cutoff"]),
            row["label_set"],
            row["judge"],
            plain_note(row["note"]),
        )
        for row in rows
    ]
    headers = ("cell", "cost", "value", "95 % interval", "n", "excluded", "corpus", "at", "labels", "judge", "note")
    return numbers("Every cost on record", headers, said, words=(0, 1, 6, 7, 8, 9, 10))


def _ends(row: Row, before: str = "") -> str:
    return "" if row["low"] is None else f"{before}[{_amount(row['low'])}, {_amount(row['high'])}]"


def _amount(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"
