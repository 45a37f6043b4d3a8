"""The report as one HTML file that loads nothing: its styles, script and data stand in it, and it may run no others."""

import base64
import hashlib
from importlib import resources

from markupsafe import Markup

from memlake.transforms.report.data.document import Document
from memlake.transforms.report.page.browser import browser, data
from memlake.transforms.report.page.comparisons import agreement, controls, dials
from memlake.transforms.report.page.costs import costs
from memlake.transforms.report.page.figures import categories, curves
from memlake.transforms.report.page.html import el, void
from memlake.transforms.report.page.losses import losses
from memlake.transforms.report.page.top import headline, run_card

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
    head = el(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=_policy(css, script)),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="referrer", content="no-referrer"),
        el("title", f"{title}: memlake report"),
        el("style", Markup(css)),  # noqa: S704 - a file of ours
    )
    body = el(
        "body",
        el("a", "Skip to the questions", href="#browser", class_="skip"),
        el(
            "header",
            el("p", "memlake report", class_="kicker"),
            el("h1", title),
            el("p", f"run {run['run_id']}, {run['questions']:,} questions", class_="sub"),
            run_card(run),
            el("nav", *(el("a", said, href=f"#{name}") for name, said in links), aria_label="Sections"),
        ),
        el(
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
        el("script", Markup(script)),  # noqa: S704 - a file of ours
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _policy(css: str, script: str) -> str:
    """Nothing from anywhere; of scripts and styles those of this file alone, by their hashes."""
    return f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(css)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def _file(name: str) -> str:
    return resources.files("memlake").joinpath("transforms", "report", "page", name).read_text(encoding="utf-8")
