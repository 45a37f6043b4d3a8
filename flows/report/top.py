"""The top of a page: what was run, and its headline."""

from flows.report.charts_rows import Dot, dot_chart
from flows.report.html import Markup, el, join
from flows.report.parts import empty, notes, numbers, paragraph, section, table
from flows.report.words import (
    CONTROLS,
    at_name,
    cell_name,
    counted,
    cutoff_name,
    interval,
    metric_name,
    p_value,
    plain_note,
    share,
    signed,
)
from transforms.report.document import At, Compared, Document, Row, RunCard

_SURVIVAL = (
    "Survival counts whether the words of the gold answer are in the text that a reader would see. It is not accuracy: a reader "
    "may still miss them, and a long text holds many words by chance, so it is shown against tokens and beside a random context."
)
_EXTRACTIVE = (
    "The reader here is extractive: it asks no model and returns the best-matching sentence of what it is shown. Its accuracy "
    "says how readable a context is for that rule, not what a language model would make of it."
)


def run_card(run: RunCard) -> Markup:
    """What was run, on what, by which version, and what was left out."""
    readers = [f"{one['reader']} ({one['model'] or one['kind'] + ', no model'})" for one in run["readers"]]
    judges = [f"{one['judge']} ({one['model'] or one['kind'] + ', no model'})" for one in run["judges"]]
    excluded = [f"{number:,} {reason}" for reason, number in run["excluded"].items()]
    if run["forgotten"] > 0:
        excluded.append(f"{run['forgotten']:,} gone since with their conversations")
    rows: list[tuple[str, object]] = [
        ("run", run["run_id"]),
        ("ended", run["ended_at"] or "not on record"),
        ("corpora", ", ".join(run["corpora"])),
        ("questions", f"{run['questions']:,}"),
        ("not scored by some metric", ", ".join(excluded) or "none"),
        ("readers", ", ".join(readers) or "none: nothing was answered"),
        ("judges", ", ".join(judges) if run["readers"] else "none: nothing was answered"),
        ("embedder", run["embedder"] or "none"),
        ("tokeniser", run["tokeniser"]),
        ("read snapshot", run["read_snapshot_id"]),
        ("published as", run["snapshot_id"] or "not on record"),
        ("memlake", run["code_version"] or "not on record"),
        ("settings", ", ".join(f"{name} {value}" for name, value in run["settings"].items())),
    ]
    if run["models"]:
        price = run["models"].get("price_usd")
        rows.append(
            (
                "models",
                f"{run['models'].get('calls', 0):,} calls, {'price unknown' if price is None else f'{price:,.4f} US dollars'}",
            )
        )
    listed = el("dl", *(join(el("dt", name), el("dd", value)) for name, value in rows), class_="card")
    cells = table(
        "Cells",
        ("cell", "corpus", "representations", "plan", "reader", "bound", "shown at"),
        [
            (
                cell["cell"],
                cell["corpus"],
                ", ".join(cell["representations"]),
                cell["plan"],
                cell["reader"] or "none",
                CONTROLS.get(cell["control"], ""),
                cutoff_name(cell["cutoff_kind"], cell["cutoff"]),
            )
            for cell in run["cells"]
        ],
        words=range(7),
    )
    return el("details", el("summary", "What was run"), listed, cells, id="run")


def headline(document: Document) -> Markup:
    """The first comparison with its interval and tests, and every cell's mean at the same measure."""
    found = document["headline"]
    at, run = found["at"], document["run"]
    lead = [_compared(one) for one in found["compared"]]
    return section(
        "headline",
        "Headline",
        *(lead or [empty("This study declares no comparison: below are the means of its cells.")]),
        *_means(found["means"], at),
        paragraph(_SURVIVAL, css="say") if "survival" in at["metric"] else None,
        paragraph(_EXTRACTIVE, css="say") if any(one["kind"] == "extractive" for one in run["readers"]) else None,
        notes(document["notes"]),
    )


def _compared(one: Compared) -> Markup:
    number = one["difference"]
    where = f" on {one['corpus']}"
    excluded = f"{number['excluded']:,} not scored in {one['a']}, {one['excluded_b']:,} in {one['b']}"
    tests = []
    if one["p"] is not None:
        tests.append(f"sign-flip test by conversation p {p_value(one['p'])} (Holm {p_value(one['p_holm'])})")
    if one["mcnemar_p"] is not None:
        tests.append(f"McNemar by question p {p_value(one['mcnemar_p'])} (Holm {p_value(one['mcnemar_p_holm'])})")
    if one["only_a"] is not None:
        tests.append(f"only {one['a']} right {one['only_a']:,}, only {one['b']} right {one['only_b']:,}")
    if one["detectable"] is not None:
        tests.append(f"a true difference of {share(one['detectable'])} would be found 4 times in 5")
    return el(
        "div",
        el("p", f"{one['name']}{where}", class_="kicker"),
        el(
            "p",
            el("span", one["a"], class_="name"),
            " \u2212 ",
            el("span", one["b"], class_="name"),
            " = ",
            el("strong", signed(number["value"])),
            el("span", f" 95 % {interval(number['low'], number['high'])}", class_="interval"),
            class_="big",
        ),
        paragraph(f"{metric_name(one['at']['metric'])} ({at_name(one['at'])}); n {number['n']:,} in both; {excluded}."),
        notes([*tests, plain_note(number["note"])]),
        class_="lead",
    )


def _means(means: list[Row], headline_at: At) -> list[Markup]:
    made = []
    for corpus in dict.fromkeys(row["corpus"] for row in means):
        rows = [row for row in means if row["corpus"] == corpus]
        at = {**headline_at, "judge": rows[0]["judge"]}
        dots = [Dot(cell_name(row, at), row, place, row["control"]) for place, row in enumerate(rows)]
        said = [counted(row) for row in rows if row["value"] is not None]
        about = f"{at_name(at)}; " + "; ".join(dict.fromkeys(said))
        title = f"{metric_name(at['metric'])}, {corpus}"
        made.append(
            el(
                "figure",
                el("figcaption", title, el("small", f"{about}. Bars are 95 % intervals.")),
                dot_chart(f"headline-{corpus}", title, about, dots, x=at["metric"], differences=False),
                numbers(
                    title,
                    ("cell", "mean", "95 % interval", "n", "excluded", "note"),
                    [
                        (
                            cell_name(row, at),
                            share(row["value"], at["metric"]),
                            interval(row["low"], row["high"]),
                            row["n"],
                            row["excluded"],
                            plain_note(row["note"]),
                        )
                        for row in rows
                    ],
                    words=(0, 5),
                ),
            )
        )
    return made
