"""Parts of a page that sections share: a section, a table in its own box, the numbers behind a chart."""

from collections.abc import Collection, Sequence

from memlake.transforms.report.page.html import Markup, el, join


def section(identifier: str, title: str, *children: object) -> Markup:
    """A section that a link can name."""
    return el("section", el("h2", title, id=f"{identifier}-title"), *children, id=identifier)


# From so many signs on a value is a sentence, and gets a column that it can be read in.
_SENTENCE = 26


def table(
    caption: str, headers: Sequence[str], rows: Sequence[Sequence[object]], *, words: Collection[int] = (0,)
) -> Markup:
    """A table that scrolls in its own box; the columns in `words` are text, the others numbers; the first heads its row."""
    head = el(
        "tr",
        *(el("th", name, scope="col", class_=None if place in words else "n") for place, name in enumerate(headers)),
    )
    body = [el("tr", *(_cell(place, value, words) for place, value in enumerate(row))) for row in rows]
    made = el("table", el("caption", caption), el("thead", head), el("tbody", *body))
    return el("div", made, class_="wide", tabindex="0", role="group", aria_label=f"{caption} (scrolls sideways)")


def _cell(place: int, value: object, words: Collection[int]) -> Markup:
    css = "n" if place not in words else "long" if len(str(value)) > _SENTENCE else "name"
    return el("th", value, scope="row", class_=css) if place == 0 else el("td", value, class_=css)


def numbers(
    caption: str, headers: Sequence[str], rows: Sequence[Sequence[object]], *, words: Collection[int] = (0,)
) -> Markup:
    """The table of a chart's numbers, folded up."""
    return el("details", el("summary", "The numbers"), table(caption, headers, rows, words=words), class_="numbers")


def caption(title: str, about: str) -> Markup:
    """What stands above a chart: its title, and of what its numbers are."""
    return el("figcaption", title, el("small", about))


def notes(said: Sequence[str]) -> Markup | None:
    """Notes, each once; None without any."""
    listed = list(dict.fromkeys(filter(None, said)))
    return el("ul", *(el("li", one) for one in listed), class_="notes") if listed else None


def paragraph(*children: object, css: str | None = None) -> Markup:
    """A paragraph."""
    return el("p", join(*children), class_=css)


def empty(said: str) -> Markup:
    """What stands where there is nothing to show."""
    return el("p", said, class_="empty")
