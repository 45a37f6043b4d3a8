"""The report as one HTML file that loads nothing, runs no script but its own, and begins with the run and its headline."""

import base64
import hashlib
from importlib import resources

from markupsafe import Markup

from memlake.schemas.metrics import METRICS
from memlake.transforms.report.data.document import At, Compared, Document, RunCard
from memlake.transforms.report.page import html
from memlake.transforms.report.page.browser import browser, data
from memlake.transforms.report.page.charts_rows import Dot, dot_chart
from memlake.transforms.report.page.comparisons import agreement, controls, dials
from memlake.transforms.report.page.figures import categories, curves
from memlake.transforms.report.page.losses import costs, losses

_EXTRACTIVE = (
    " is extractive: it asks no model and returns the best-matching sentence of what it is shown. Its accuracy says how "
    "readable a context is for that rule, not what a language model would make of it."
)

_LEVEL = 0.05


def run_card(run: RunCard) -> Markup:
    """What was run, on what, by which version, and what was left out."""
    readers = [f"{spec['reader']} ({spec['model'] or spec['kind'] + ', no model'})" for spec in run["readers"]]
    judges = [f"{spec['judge']} ({spec['model'] or spec['kind'] + ', no model'})" for spec in run["judges"]]
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
        paid = "price unknown" if price is None else f"{price:,.4f} US dollars"
        rows.append(("models", f"{run['models'].get('calls', 0):,} calls, {paid}"))
    listed = html.el(
        "dl", *(html.join(html.el("dt", name), html.el("dd", value)) for name, value in rows), class_="card"
    )
    columns: html.Columns = {
        "cell": "cell",
        "corpus": "corpus",
        "representations": lambda cell: ", ".join(cell["representations"]),
        "plan": "plan",
        "reader": lambda cell: cell["reader"] or "none",
        "bound": lambda cell: html.CONTROLS.get(cell["control"], ""),
        "shown at": html.cutoff_name,
    }
    cells = html.table("Cells", columns, run["cells"], words=columns)
    return html.folded("What was run", listed, cells, id="run")


def _extractive(run: RunCard) -> Markup | None:
    """What the readers that ask no model are; none where every reader asks one."""
    names = [spec["reader"] for spec in run["readers"] if spec["kind"] == "extractive"]
    return html.remark(f"Reader {', '.join(names)}{_EXTRACTIVE}") if names else None


def headline(document: Document) -> Markup:
    """The first comparison with its interval and tests, and every cell's mean at the same measure."""
    found = document["headline"]
    at, run = found["at"], document["run"]
    lead = [_lead(compared, run) for compared in found["compared"]]
    return html.section(
        "headline",
        "Headline",
        html.el("div", *lead, class_="leads")
        if lead
        else html.empty("This study declares no comparison: below are the means of its cells."),
        *(_means(document, corpus, at) for corpus in dict.fromkeys(row["corpus"] for row in found["means"])),
        html.remark(METRICS[at["metric"]].about),
        _extractive(run),
        html.notes(document["notes"]),
    )


def _lead(compared: Compared, run: RunCard) -> Markup:
    number, at = compared["difference"], compared["at"]
    excluded = f"{number['excluded']:,} not scored in {compared['a']}, {compared['excluded_b']:,} in {compared['b']}"
    only = f"; categories {', '.join(compared['categories'])}" if compared["categories"] else ""
    tests = []
    for test, p, holm in (
        ("sign-flip test by conversation", compared["p"], compared["p_holm"]),
        ("McNemar by question", compared["mcnemar_p"], compared["mcnemar_p_holm"]),
    ):
        if p is not None:
            tests.append(f"{test} p {html.p_value(p)} (Holm {html.p_value(holm)})")
    if compared["only_a"] is not None:
        tests.append(
            f"only {compared['a']} right {compared['only_a']:,}, only {compared['b']} right {compared['only_b']:,}"
        )
    if compared["detectable"] is not None:
        tests.append(f"a true difference of {html.share(compared['detectable'])} would be found 4 times in 5")
    # Means stand beside the difference only where it is theirs: of the same questions.
    same = compared["mean_a"]["n"] == compared["mean_b"]["n"] == number["n"] > 0
    means = (compared["mean_a"], compared["mean_b"])
    a, b = (f" {html.share(mean['value'], at['metric'])}" if same else "" for mean in means)
    return html.el(
        "div",
        html.el("p", f"{compared['name']}, {compared['corpus']}", class_="kicker"),
        html.el(
            "p",
            html.el("span", compared["a"], class_="name"),
            f"{a} \u2212 ",
            html.el("span", compared["b"], class_="name"),
            f"{b} = ",
            html.el("strong", html.signed(number["value"])),
            html.el("span", f" 95 % {html.interval(number)}", class_="interval"),
            class_="big",
        ),
        html.el("p", verdict(compared), class_="verdict"),
        html.remark(
            f"{html.metric_name(at['metric'])} ({html.at_name(at)}{only}); n {number['n']:,} in both; {excluded}.",
            html.includes(run, recounted=False),
        ),
        html.remark(html.plain_note(number["note"])) if number["note"] else None,
        html.folded("Tests", html.notes(tests)) if tests else None,
        class_="lead",
    )


def verdict(compared: Compared) -> str:
    """What a difference says, in one sentence: by its interval, and by its test after correction."""
    number, holm = compared["difference"], compared["p_holm"]
    value, low, high = number["value"], number["low"], number["high"]
    if value is None:
        return "There is no such difference in this run."
    if low is None or high is None:
        return "There is no interval, so this difference may be chance."
    if low <= 0 <= high:
        least = compared["detectable"]
        missed = f"; a true one below {html.share(least)} would often be missed" if least else ""
        return f"No difference is shown: the interval holds zero{missed}."
    said = f"{compared['a']} scores {'higher' if value > 0 else 'lower'} than {compared['b']}"
    if holm is None:
        return f"{said} by its interval; there is no test."
    test = f"p {html.p_value(holm)} after Holm's correction over all declared comparisons"
    return f"{said}, and its test confirms it: {test}." if holm < _LEVEL else f"{said} by its interval alone: {test}."


def _means(document: Document, corpus: str, headline_at: At) -> Markup:
    rows = [row for row in document["headline"]["means"] if row["corpus"] == corpus]
    at, shown = {**headline_at, "judge": rows[0]["judge"]}, html.looks(document, corpus)
    dots = [Dot(html.cell_name(row, at), row, shown[row["cell"]], row["control"]) for row in rows]
    about = f"{html.at_name(at)}; {html.counted(row for row in rows if row['value'] is not None)}"
    named = f"Bars are 95 % intervals.{html.named_only(document, corpus)}"
    title = f"{html.metric_name(at['metric'])}, {corpus}"
    columns: html.Columns = {
        "cell": lambda row: html.cell_name(row, at),
        "mean": lambda row: html.share(row["value"], at["metric"]),
        **html.COUNTED,
        "note": lambda row: html.plain_note(row["note"]),
    }
    return html.figure(
        document["run"],
        title,
        f"{about}. {named}",
        dot_chart(f"headline-{corpus}", title, about, dots, x=at["metric"], differences=False),
        html.numbers(title, columns, rows, words=("note",)),
    )


_LINKS = (
    ("headline", "Headline"),
    ("dials", "Crossover"),
    ("curves", "Against tokens"),
    ("categories", "By category"),
    ("losses", "Losses"),
    ("costs", "Cost"),
    ("controls", "Controls"),
    ("agreement", "Judges"),
    ("browser", "Questions"),
)


def page(document: Document) -> str:
    """The report's page."""
    css, script = _file("page.css"), _file("page.js")
    run = document["run"]
    title = f"{run['study']} on {', '.join(run['corpora'])}"
    links = [(name, said) for name, said in _LINKS if name != "dials" or document["dials"]]
    head = html.el(
        "head",
        html.void("meta", charset="utf-8"),
        html.void("meta", http_equiv="Content-Security-Policy", content=_policy(css, script)),
        html.void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html.void("meta", name="referrer", content="no-referrer"),
        html.el("title", f"{title}: memlake report"),
        html.el("style", Markup(css)),  # noqa: S704 - a file of ours
    )
    body = html.el(
        "body",
        html.el("a", "Skip to the questions", href="#browser", class_="skip"),
        html.el(
            "header",
            html.el("p", "memlake report", class_="kicker"),
            html.el("h1", title),
            html.el("p", f"run {run['run_id']}, {run['questions']:,} questions", class_="sub"),
            run_card(run),
            html.el("nav", *(html.el("a", said, href=f"#{name}") for name, said in links), aria_label="Sections"),
        ),
        html.el(
            "main",
            headline(document),
            dials(document),
            curves(document),
            categories(document),
            losses(document),
            costs(document),
            controls(document),
            agreement(document),
            browser(document),
        ),
        data(document),
        html.el("script", Markup(script)),  # noqa: S704 - a file of ours
    )
    return f"<!doctype html>\n{html.el('html', head, body, lang='en')}\n"


def _policy(css: str, script: str) -> str:
    """Nothing from anywhere; of scripts and styles those of this file alone, by their hashes."""
    return f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(css)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def _file(name: str) -> str:
    return resources.files("memlake").joinpath("transforms", "report", "page", name).read_text(encoding="utf-8")
