"""What a study's comparisons, published numbers, dials and judges say, as sections of the page."""

from markupsafe import Markup

from memlake.transforms.report.data.document import Compared, Dial, Document, Row
from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Dot, dot_chart
from memlake.transforms.report.page.html import (
    at_name,
    counted,
    cutoff_name,
    el,
    empty,
    figure,
    includes,
    interval,
    join,
    notes,
    numbers,
    p_value,
    paragraph,
    plain_note,
    section,
    share,
    signed,
    table,
)


def controls(document: Document) -> Markup:
    """Every comparison in one table, beside the published number and whether the two agree."""
    rows = document["controls"]
    return section(
        "controls",
        "Comparisons and controls",
        paragraph(
            "Each row is one pair of cells, paired by question: a \u2212 b. Holm's correction is over the study's declared "
            "comparisons. 'within' says that the published number lies in our interval; it is no test that the two are equal. A "
            "published number of another corpus, reader, judge or number of questions is another number, and is marked as not "
            "comparable.",
            includes(document["run"], recounted=False),
            css="say",
        ),
        *(_comparisons(rows) if rows else [empty("This study declares no comparison.")]),
        *_published(document["published"]),
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
    headers = ("comparison", "a \u2212 b", "difference, 95 % interval", "p (Holm)", "n", "excluded a / b")
    beside = ("published", "agrees", "source") if published else ()
    tested = (
        "comparison", "measure", "only a / only b", "McNemar p (Holm)", "detectable", "shift, 95 % interval", "against",
    )  # fmt: skip
    listed = [(*_beside(row, where=where), *(_theirs(row) if published else ())) for row in rows]
    return [
        el("figure", el("figcaption", "Comparisons", el("small", f"{about}.")), chart),
        table("Comparisons and controls", (*headers, *beside), listed, words=(0, 1, 7, 8)),
        el(
            "details",
            el("summary", "Their other tests"),
            table("Other tests", tested, [_tests(row, where=where) for row in rows], words=(0, 1, 6)),
        ),
        notes(
            [
                f"{row['corpus']}: {said}" if where else said
                for row in rows
                if (said := plain_note(row["difference"]["note"]))
            ]
        )
        or el("p"),
    ]


def _name(row: Compared, *, where: bool) -> Markup:
    """A comparison with its corpus where there are several, and under it the defect that it is about."""
    name = f"{row['name']}, {row['corpus']}" if where else row["name"]
    return join(name, el("small", row["defect"]) if row["defect"] else None)


def _beside(row: Compared, *, where: bool) -> tuple[object, ...]:
    number = row["difference"]
    return (
        _name(row, where=where),
        f"{row['a']} \u2212 {row['b']}",
        f"{signed(number['value'])} {interval(number)}",
        f"{p_value(row['p'])} ({p_value(row['p_holm'])})",
        f"{number['n']:,}",
        f"{number['excluded']:,} / {row['excluded_b']:,}",
    )


def _theirs(row: Compared) -> tuple[str, ...]:
    published = "" if row["published"] is None else signed(row["published"])
    return (published, _agrees(row["agrees"], row["why"]), row["source"])


def _tests(row: Compared, *, where: bool) -> tuple[object, ...]:
    shift = row["shift"]
    only = f"; categories {', '.join(row['categories'])}" if row["categories"] else ""
    return (
        _name(row, where=where),
        f"{at_name(row['at'])}{only}",
        "" if row["only_a"] is None else f"{row['only_a']:,} / {row['only_b']:,}",
        f"{p_value(row['mcnemar_p'])} ({p_value(row['mcnemar_p_holm'])})",
        "" if row["detectable"] is None else share(row["detectable"]),
        "" if shift is None else f"{signed(shift['value'])} {interval(shift)}",
        row["against"],
    )


def _agrees(agrees: str, why: str) -> str:
    return f"{agrees}: {why}" if why else agrees


def _published(rows: list[Row]) -> list[Markup]:
    if not rows:
        return []
    headers = (
        "cell", "published", "ours", "95 % interval", "agrees", "n", "excluded", "published n", "measure", "source", "note",
        "corpus",
    )  # fmt: skip
    said = [
        (
            row["cell"],
            share(row["published"]),
            share(row["ours"]["value"]),
            interval(row["ours"]),
            _agrees(row["agrees"], row["why"]),
            row["ours"]["n"],
            row["ours"]["excluded"],
            f"{row['published_n']:,}",
            at_name(row["at"]),
            row["source"],
            row["note"],
            row["corpus"],
        )
        for row in rows
    ]
    return [table("Published numbers beside ours", headers, said, words=(0, 4, 8, 9, 10, 11))]


def dials(document: Document) -> Markup | None:
    """The crossover: differences along the dial; None for a study without one."""
    if not document["dials"]:
        return None
    return section(
        "dials",
        "Where one overtakes the other",
        paragraph(
            "Above zero the first cell is better, below it the second. The crossing is read off the straight line between two "
            "neighbouring points and has no interval of its own.",
            css="say",
        ),
        *(_dial(document, place, dial) for place, dial in enumerate(document["dials"])),
    )


def _dial(document: Document, place: int, dial: Dial) -> Markup:
    points = [
        {**point, "x": point["dial"], "title": f"{point['corpus']}: {signed(point['value'])}"}
        for point in dial["points"]
    ]
    said = "; ".join(f"changes sign at {x:.3g}" for x in dial["crossings"]) or "does not change sign"
    about = f"{at_name(dial['at'])}; {said}; {counted(dial['points'])}"
    marks = [(x, f"zero at {x:.3g}") for x in dial["crossings"]]
    axes = Axes("dial", f"{dial['a']} \u2212 {dial['b']}", around_zero=True, log_x=False, marks=marks)
    rows = [
        (point["corpus"], point["dial"], signed(point["value"]), interval(point), point["n"], point["excluded"])
        for point in dial["points"]
    ]
    return figure(
        document["run"],
        dial["comparison"],
        f"{about}. Upright bars are 95 % intervals.",
        line_chart(
            f"dial-{place}", dial["comparison"], about, [Line(f"{dial['a']} \u2212 {dial['b']}", points, 0)], axes
        ),
        numbers(dial["comparison"], ("corpus", "dial", "a \u2212 b", "95 % interval", "n", "excluded"), rows),
    )


def agreement(document: Document) -> Markup:
    """How far judges agree, and how much repeats differ."""
    return section(
        "agreement",
        "Judges and repeats",
        notes([includes(document["run"], recounted=False)]),
        _rows("Agreement of judges: Cohen's kappa, and how often one changes its mind", document["agreement"])
        or empty("There are no two judges and no repeated verdicts in this run, so there is no agreement to show."),
        _rows("Spread between repeats, and variance components", document["variance"])
        or empty("Nothing was repeated in this run, so there is no spread between repeats to show."),
    )


def _rows(caption: str, rows: list[Row]) -> Markup | None:
    if not rows:
        return None
    headers = (
        "statistic", "cell", "judge", "value", "95 % interval", "n", "excluded", "metric", "at", "labels", "corpus", "note",
    )  # fmt: skip
    said = [
        (
            row["statistic"],
            row["cell_a"] or "all cells",
            row["judge"],
            share(row["value"]),
            interval(row),
            row["n"],
            row["excluded_a"] + row["excluded_b"],
            row["metric"],
            cutoff_name(row["cutoff_kind"], row["cutoff"]),
            row["label_set"],
            row["corpus"],
            plain_note(row["note"]),
        )
        for row in rows
    ]
    return table(caption, headers, said, words=(0, 1, 2, 7, 8, 9, 10, 11))
