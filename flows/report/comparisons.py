"""What a study's comparisons, published numbers, dials and judges say, as sections of the page."""

from flows.report.charts_lines import Axes, Line, line_chart
from flows.report.charts_rows import Dot, dot_chart
from flows.report.html import Markup, el
from flows.report.parts import empty, notes, numbers, paragraph, section, table
from flows.report.words import at_name, counted, cutoff_name, interval, p_value, plain_note, share, signed
from transforms.report.document import Compared, Dial, Document, Row


def controls(document: Document) -> Markup:
    """Every comparison in one table, beside the published number and whether the two agree."""
    rows = document["controls"]
    return section(
        "controls",
        "Comparisons and controls",
        paragraph(
            "Each row is one pair of cells, paired by question: a \u2212 b. Holm's correction is over the study's declared "
            "comparisons. 'within' says that the published number lies in our interval; it is no test that the two are equal. A "
            "published number of another reader or judge is another number, and is marked as not comparable.",
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
    about = "Differences a \u2212 b with 95 % intervals; an upright bar is the published difference"
    chart = dot_chart("controls-chart", "Comparisons", about, dots, x="difference, a \u2212 b", differences=True)
    named = [(row, f"{row['name']}, {row['corpus']}" if len(corpora) > 1 else row["name"]) for row in rows]
    headers = (
        "comparison", "a \u2212 b", "difference", "95 % interval", "published", "agrees", "n", "excluded a / b", "defect",
        "source",
    )  # fmt: skip
    tested = (
        "comparison", "measure", "only a / only b", "p (Holm)", "McNemar p (Holm)", "detectable", "shift, 95 % interval",
        "against",
    )  # fmt: skip
    return [
        el("figure", el("figcaption", "Comparisons", el("small", f"{about}.")), chart),
        table("Comparisons and controls", headers, [_beside(row, name) for row, name in named], words=(0, 1, 5, 8, 9)),
        table("Their tests", tested, [_tests(row, name) for row, name in named], words=(0, 1, 7)),
        notes([plain_note(row["difference"]["note"]) for row in rows]) or el("p"),
    ]


def _beside(row: Compared, name: str) -> tuple[object, ...]:
    number = row["difference"]
    return (
        name,
        f"{row['a']} \u2212 {row['b']}",
        signed(number["value"]),
        interval(number["low"], number["high"]),
        "" if row["published"] is None else signed(row["published"]),
        _agrees(row["agrees"], row["why"]),
        f"{number['n']:,}",
        f"{number['excluded']:,} / {row['excluded_b']:,}",
        row["defect"],
        row["source"],
    )


def _tests(row: Compared, name: str) -> tuple[object, ...]:
    shift = row["shift"]
    return (
        name,
        at_name(row["at"]),
        "" if row["only_a"] is None else f"{row['only_a']:,} / {row['only_b']:,}",
        f"{p_value(row['p'])} ({p_value(row['p_holm'])})",
        f"{p_value(row['mcnemar_p'])} ({p_value(row['mcnemar_p_holm'])})",
        "" if row["detectable"] is None else share(row["detectable"]),
        "" if shift is None else f"{signed(shift['value'])} {interval(shift['low'], shift['high'])}",
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
            interval(row["ours"]["low"], row["ours"]["high"]),
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
        *(_dial(place, one) for place, one in enumerate(document["dials"])),
    )


def _dial(place: int, one: Dial) -> Markup:
    points = [
        {**point, "x": point["dial"], "title": f"{point['corpus']}: {signed(point['value'])}"}
        for point in one["points"]
    ]
    said = "; ".join(f"changes sign at {x:.3g}" for x in one["crossings"]) or "does not change sign"
    counts = "; ".join(dict.fromkeys(counted(point) for point in one["points"]))
    about = f"{at_name(one['at'])}; {said}; {counts}"
    marks = [(x, f"zero at {x:.3g}") for x in one["crossings"]]
    axes = Axes("dial", f"{one['a']} \u2212 {one['b']}", around_zero=True, log_x=False, marks=marks)
    rows = [
        (point["corpus"], point["dial"], signed(point["value"]), interval(point["low"], point["high"]), point["n"], point["excluded"])
        for point in one["points"]
    ]  # fmt: skip
    return el(
        "figure",
        el("figcaption", one["comparison"], el("small", f"{about}. Upright bars are 95 % intervals.")),
        line_chart(f"dial-{place}", one["comparison"], about, [Line(f"{one['a']} \u2212 {one['b']}", points, 0)], axes),
        numbers(one["comparison"], ("corpus", "dial", "a \u2212 b", "95 % interval", "n", "excluded"), rows),
    )


def agreement(document: Document) -> Markup:
    """How far judges agree, and how much repeats differ."""
    return section(
        "agreement",
        "Judges and repeats",
        _rows("Agreement of judges: Cohen's kappa, and how often one changes its mind", document["agreement"])
        or empty("There are no two judges and no repeated verdicts in this run, so there is no agreement to show."),
        _rows("Spread between repeats, and variance components", document["variance"])
        or empty("Nothing was repeated in this run, so there is no spread between repeats to show."),
    )


def _rows(caption: str, rows: list[Row]) -> Markup | None:
    if not rows:
        return None
    headers = (
        "statistic",
        "cell",
        "judge",
        "value",
        "95 % interval",
        "n",
        "excluded",
        "metric",
        "at",
        "corpus",
        "note",
    )
    said = [
        (
            row["statistic"],
            row["cell_a"] or "all cells",
            row["judge"],
            share(row["value"]),
            interval(row["low"], row["high"]),
            row["n"],
            row["excluded_a"] + row["excluded_b"],
            row["metric"],
            cutoff_name(row["cutoff_kind"], row["cutoff"]),
            row["corpus"],
            plain_note(row["note"]),
        )
        for row in rows
    ]
    return table(caption, headers, said, words=(0, 1, 2, 7, 8, 9, 10))
