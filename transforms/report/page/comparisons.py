"""What a study's comparisons, published numbers, dials and judges say, as sections of the page."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from memlake.transforms.report.data.document import Compared, Dial, Document, Number, Row
from memlake.transforms.report.page import html
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Dot, dot_chart


def controls(document: Document) -> Markup:
    """Every comparison in one table, beside the published number and whether the two agree."""
    rows = document["controls"]
    return html.section(
        "controls",
        "Comparisons and controls",
        html.remark(
            "Each row is one pair of cells, paired by question: a \u2212 b. Holm's correction is over the study's declared "
            "comparisons. 'within' says that the published number lies in our interval; it is no test that the two are equal. A "
            "published number of another corpus, reader, judge or number of questions is another number, and is marked as not "
            "comparable.",
            html.includes(document["run"], recounted=False),
        ),
        *(_comparisons(rows) if rows else [html.empty("This study declares no comparison.")]),
        html.table("Published numbers beside ours", _PUBLISHED, document["published"], words=_PUBLISHED_WORDS)
        if document["published"]
        else None,
    )


def _comparisons(rows: list[Compared]) -> list[Markup]:
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    dots: list[Dot] = []
    for corpus in corpora:
        here = [row for row in rows if row["corpus"] == corpus]
        if len(corpora) > 1:
            dots.append(Dot(corpus))
        dots += [Dot(row["name"], row["difference"], 0, beside=row["published"]) for row in here]
    published = any(row["published"] is not None for row in rows)
    about = "Differences a \u2212 b with 95 % intervals"
    about += "; an upright bar is the published difference" if published else ""
    chart = dot_chart("controls-chart", "Comparisons", about, dots, x="difference, a \u2212 b", differences=True)
    where = len(corpora) > 1
    name = partial(_name, where=where)
    return [
        html.el("figure", html.el("figcaption", "Comparisons", html.el("small", f"{about}.")), chart),
        html.table(
            "Comparisons and controls",
            {"comparison": name, **_DIFFERENCE, **(_THEIRS if published else {})},
            rows,
            words=("a \u2212 b", "agrees", "source"),
        ),
        html.folded(
            "Their other tests",
            html.table("Other tests", {"comparison": name, **_TESTS}, rows, words=("measure", "against")),
        ),
        html.notes(
            [
                f"{row['corpus']}: {said}" if where else said
                for row in rows
                if (said := html.plain_note(row["difference"]["note"]))
            ]
        )
        or html.el("p"),
    ]


def _name(row: Compared, *, where: bool) -> Markup:
    """A comparison with its corpus where there are several, and under it the defect that it is about."""
    name = f"{row['name']}, {row['corpus']}" if where else row["name"]
    return html.join(name, html.el("small", row["defect"]) if row["defect"] else None)


def _with_interval(number: Number) -> str:
    return f"{html.signed(number['value'])} {html.interval(number)}"


def _agrees(row: Mapping[str, Any]) -> str:
    return f"{row['agrees']}: {row['why']}" if row["why"] else str(row["agrees"])


def _measure(row: Compared) -> str:
    only = f"; categories {', '.join(row['categories'])}" if row["categories"] else ""
    return f"{html.at_name(row['at'])}{only}"


_DIFFERENCE: html.Columns = {
    "a \u2212 b": lambda row: f"{row['a']} \u2212 {row['b']}",
    "difference, 95 % interval": lambda row: _with_interval(row["difference"]),
    "p (Holm)": lambda row: f"{html.p_value(row['p'])} ({html.p_value(row['p_holm'])})",
    "n": lambda row: f"{row['difference']['n']:,}",
    "excluded a / b": lambda row: f"{row['difference']['excluded']:,} / {row['excluded_b']:,}",
}
_THEIRS: html.Columns = {
    "published": lambda row: "" if row["published"] is None else html.signed(row["published"]),
    "agrees": _agrees,
    "source": "source",
}
_TESTS: html.Columns = {
    "measure": _measure,
    "only a / only b": lambda row: "" if row["only_a"] is None else f"{row['only_a']:,} / {row['only_b']:,}",
    "McNemar p (Holm)": lambda row: f"{html.p_value(row['mcnemar_p'])} ({html.p_value(row['mcnemar_p_holm'])})",
    "detectable": lambda row: "" if row["detectable"] is None else html.share(row["detectable"]),
    "shift, 95 % interval": lambda row: "" if row["shift"] is None else _with_interval(row["shift"]),
    "against": "against",
}
_PUBLISHED: html.Columns = {
    "cell": "cell",
    "published": lambda row: html.share(row["published"]),
    "ours": lambda row: html.share(row["ours"]["value"]),
    "95 % interval": lambda row: html.interval(row["ours"]),
    "agrees": _agrees,
    "n": lambda row: row["ours"]["n"],
    "excluded": lambda row: row["ours"]["excluded"],
    "published n": lambda row: f"{row['published_n']:,}",
    "measure": lambda row: html.at_name(row["at"]),
    "source": "source",
    "note": "note",
    "corpus": "corpus",
}
_PUBLISHED_WORDS = ("agrees", "measure", "source", "note", "corpus")


def dials(document: Document) -> Markup | None:
    """The crossover: differences along the dial; None for a study without one."""
    if not document["dials"]:
        return None
    return html.section(
        "dials",
        "Where one overtakes the other",
        html.remark(
            "Above zero the first cell is better, below it the second. The crossing is read off the straight line between two "
            "neighbouring points and has no interval of its own.",
        ),
        *(_dial(document, place, dial) for place, dial in enumerate(document["dials"])),
    )


def _dial(document: Document, place: int, dial: Dial) -> Markup:
    points = [
        {**point, "x": point["dial"], "title": f"{point['corpus']}: {html.signed(point['value'])}"}
        for point in dial["points"]
    ]
    said = "; ".join(f"changes sign at {x:.3g}" for x in dial["crossings"]) or "does not change sign"
    about = f"{html.at_name(dial['at'])}; {said}; {html.counted(dial['points'])}"
    marks = [(x, f"zero at {x:.3g}") for x in dial["crossings"]]
    axes = Axes("dial", f"{dial['a']} \u2212 {dial['b']}", around_zero=True, log_x=False, marks=marks)
    columns: html.Columns = {
        "corpus": "corpus",
        "dial": "dial",
        "a \u2212 b": lambda point: html.signed(point["value"]),
        **html.COUNTED,
    }
    return html.figure(
        document["run"],
        dial["comparison"],
        f"{about}. Upright bars are 95 % intervals.",
        line_chart(
            f"dial-{place}", dial["comparison"], about, [Line(f"{dial['a']} \u2212 {dial['b']}", points, 0)], axes
        ),
        html.numbers(dial["comparison"], columns, points),
    )


def agreement(document: Document) -> Markup:
    """How far judges agree, and how much repeats differ."""
    return html.section(
        "agreement",
        "Judges and repeats",
        html.notes([html.includes(document["run"], recounted=False)]),
        _rows("Agreement of judges: Cohen's kappa, and how often one changes its mind", document["agreement"])
        or html.empty(
            "There are no two judges and no repeated verdicts in this run, so there is no agreement to show."
        ),
        _rows("Spread between repeats, and variance components", document["variance"])
        or html.empty("Nothing was repeated in this run, so there is no spread between repeats to show."),
    )


def _rows(caption: str, rows: list[Row]) -> Markup | None:
    words = ("cell", "judge", "metric", "at", "labels", "corpus", "note")
    return html.table(caption, _STATISTICS, rows, words=words) if rows else None


_STATISTICS: html.Columns = {
    "statistic": "statistic",
    "cell": lambda row: row["cell_a"] or "all cells",
    "judge": "judge",
    "value": lambda row: html.share(row["value"]),
    "95 % interval": html.interval,
    "n": "n",
    "excluded": lambda row: row["excluded_a"] + row["excluded_b"],
    "metric": "metric",
    "at": html.cutoff_name,
    "labels": "label_set",
    "corpus": "corpus",
    "note": lambda row: html.plain_note(row["note"]),
}
