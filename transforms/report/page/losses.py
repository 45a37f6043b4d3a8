"""The sections on losses and on cost: where each wrong answer was lost, and what a cell's memory costs."""

from functools import partial
from typing import Any

from markupsafe import Markup

from memlake.transforms.report.data.document import Document, Row
from memlake.transforms.report.page import html
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Bar, bar_chart

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
    return html.section(
        "losses",
        "Where answers are lost",
        html.remark(
            "A wrong answer is lost at the first place at which a word of the gold answer is missing: in the source, in the "
            "store, among the candidates, in the context; else the reader had every word. Words decide it, not evidence: a turn may be shown and a word of the "
            "gold answer stand nowhere in it. Shares are of all verdicts, the correct ones among them.",
        ),
        *(bars or [html.empty("No reader answered in this run, so there are no wrong answers to explain.")]),
        *(_split(document, place, corpus) for place, corpus in enumerate(corpora)),
    )


def _loss_figure(document: Document, place: int, rows: list[Row]) -> Markup:
    first = rows[0]
    classes = {name: said for name, said in html.LOSSES.items() if any(_count(name, row) for row in rows)}
    bars = [
        Bar(
            row["cell"],
            [(name, _count(name, row) / row["judged"]) for name in classes] if row["judged"] else [],
            f"n {row['judged']:,}",
        )
        for row in rows
    ]
    title = f"Verdicts of judge {first['judge']}, {first['corpus']}"
    excluded = "; ".join(dict.fromkeys(f"{row['excluded']:,} without a verdict" for row in rows))
    about = f"{html.cutoff_name(first)}, labels {first['label_set']}; per cent; {excluded}"
    columns: html.Columns = {
        "cell": "cell",
        **{said: partial(_count, name) for name, said in classes.items()},
        "n": "judged",
        "no verdict": "excluded",
        "disputed": "disputed",
    }
    return html.figure(
        document["run"],
        title,
        f"{about}.",
        bar_chart(f"loss-{place}", title, about, bars, classes),
        html.numbers(title, columns, rows),
        recounted=True,
    )


def _count(name: str, row: Row) -> int:
    """How many verdicts of a bar are of a class."""
    return int(row["counts"].get(name, 0))


def _split(document: Document, place: int, corpus: str) -> Markup:
    rows = [row for row in document["survival_split"] if row["corpus"] == corpus]
    here = [row for row in rows if not row["why"]]
    title = f"Answers whose words are stored and shown, {corpus}"
    left_out = html.notes([f"{row['cell']} is left out: {row['why']}" for row in rows if row["why"]])
    if not here:
        return html.el("figure", html.el("figcaption", title, html.el("small", "No cell can be split.")), left_out)
    lead, at = document["headline"]["at"], here[0]["at"]
    if (lead["cutoff_kind"], lead["cutoff"]) in [(row["at"]["cutoff_kind"], row["at"]["cutoff"]) for row in here]:
        at = {**at, "cutoff_kind": lead["cutoff_kind"], "cutoff": lead["cutoff"]}
    about = f"No reader's part. {html.at_name(at)}; {html.counted(here)}"
    named = [{**row, "name": html.cell_name({**row["at"], "cell": row["cell"]}, at)} for row in here]
    bars = [Bar(row["name"], [(css, row[key]) for key, (css, _) in _SPLIT.items()], f"n {row['n']:,}") for row in named]
    shares: html.Columns = {said: partial(_share, key) for key, (_, said) in _SPLIT.items()}
    return html.figure(
        document["run"],
        title,
        f"{about}. Per cent.",
        bar_chart(f"split-{place}", title, about, bars, dict(_SPLIT.values())),
        left_out,
        html.numbers(title, {"cell": "name", **shares, "n": "n", "excluded": "excluded"}, named),
        recounted=True,
    )


def _share(key: str, row: Row) -> str:
    return html.share(row[key])


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
    return html.section(
        "costs",
        "Cost",
        *(_chart(document, place, corpus) for place, corpus in enumerate(corpora) if corpus in dollars),
        *(
            html.el(
                "p",
                f"{corpus}: no dollars are on record, so what reading costs is evidence tokens, "
                "as in the figures above.",
            )
            for corpus in corpora
            if corpus not in dollars
        ),
        html.remark(_PRICES, html.includes(document["run"], recounted=False)),
        *(_summary(document, corpus) for corpus in document["run"]["corpora"]),
        html.numbers("Every cost on record", _COSTS, found["rows"], words=_COST_WORDS)
        if found["rows"]
        else html.empty("This run's statistics hold no costs."),
    )


def _chart(document: Document, place: int, corpus: str) -> Markup:
    points = [point for point in document["costs"]["points"] if point["corpus"] == corpus]
    at = {**document["headline"]["at"], "judge": points[0]["judge"]}
    shown = html.looks(document, corpus)
    title = f"{html.metric_name(at['metric'])} against cost, {corpus}"
    about = f"{html.at_name(at)}; {html.counted(points)}"
    lines = [
        Line(html.cell_name(point, at), [{**point, "x": point["cost"]}], shown[point["cell"]], point["control"])
        for point in points
    ]
    axes = Axes("US dollars of reading a question (mean)", at["metric"], log_x=False)
    return html.figure(
        document["run"],
        title,
        f"{about}. Upright bars are 95 % intervals.{html.named_only(document, corpus)}",
        line_chart(f"cost-{place}", title, about, lines, axes),
    )


def _summary(document: Document, corpus: str) -> Markup | None:
    """A row a cell: what it gets right at the headline's measure, and what that costs at the same."""
    cells = [cell for cell in document["costs"]["cells"] if cell["corpus"] == corpus]
    if not cells:
        return None
    at = {**document["headline"]["at"], "judge": cells[0]["judge"]}
    known = [name for name in _SUMMARY if any(cell["costs"][name]["value"] is not None for cell in cells)]
    columns: html.Columns = {
        "cell": lambda cell: html.cell_name(cell, at),
        at["metric"]: lambda cell: f"{html.share(cell['mean']['value'], at['metric'])} {html.interval(cell['mean'])}",
        "n": lambda cell: f"{cell['mean']['n']:,}",
        "excluded": lambda cell: f"{cell['mean']['excluded']:,}",
        "evidence tokens": lambda cell: (
            "none" if cell["evidence_tokens"] is None else f"{cell['evidence_tokens']:,.0f}"
        ),
        **{_SUMMARY[name]: partial(_cost, name) for name in known},
    }
    return html.table(f"Cost by cell, {corpus}; {html.at_name(at)}", columns, cells)


def _cost(name: str, cell: Row) -> str:
    cost = cell["costs"][name]
    return f"{_amount(cost['value'])}{_ends(cost, ' ')}"


_COSTS: html.Columns = {
    "cell": "cell",
    "cost": "statistic",
    "value": lambda row: _amount(row["value"]),
    "95 % interval": lambda row: _ends(row) or "no interval",
    "n": "n",
    "excluded": "excluded",
    "corpus": "corpus",
    "at": lambda row: "" if row["cutoff_kind"] == "none" else html.cutoff_name(row),
    "labels": "label_set",
    "judge": "judge",
    "note": lambda row: html.plain_note(row["note"]),
}
_COST_WORDS = ("cost", "corpus", "at", "labels", "judge", "note")


def _ends(row: Row, before: str = "") -> str:
    return "" if row["low"] is None else f"{before}[{_amount(row['low'])}, {_amount(row['high'])}]"


def _amount(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"
