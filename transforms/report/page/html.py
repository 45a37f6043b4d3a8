"""Markup that escapes by default, and the parts that sections share: what is not made here is text, and makes none."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from memlake.transforms.report.page.words import includes

# Signs that a page would not show: controls, marks that reorder a line, spaces of no width. A line break and a tab stay,
# and so do the joiners that emoji and several scripts need.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
# From so many signs on a value is a sentence, and gets a column that it can be read in.
_SENTENCE = 26


def text(value: object) -> Markup:
    """A value as escaped text; signs that cannot be seen are written as their code point."""
    return escape(_HIDDEN.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", str(value)))


def join(*children: object) -> Markup:
    """Children one after another: markup as it stands, None as nothing, everything else as text."""
    parts = (child if isinstance(child, Markup) else text(child) for child in children if child is not None)
    return Markup("".join(parts))  # noqa: S704 - made of escaped parts


def el(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is class, other '_' are '-'; an attribute of None or False is left out, True stands alone."""
    return Markup(f"{void(name, **attributes)}{join(*children)}</{name}>")  # noqa: S704 - made of escaped parts


def void(name: str, /, **attributes: object) -> Markup:
    """An element that has no end tag."""
    listed = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    return Markup(f"<{name}{''.join(listed)}>")  # noqa: S704 - made of escaped parts


def data_block(identifier: str, json: str) -> Markup:
    """JSON in a script element that runs nothing and that no text in it can end."""
    for sign in "<>&\u2028\u2029":
        json = json.replace(sign, f"\\u{ord(sign):04x}")
    return el("script", Markup(json), type="application/json", id=identifier)  # noqa: S704 - none of its signs is left


def section(identifier: str, title: str, *children: object) -> Markup:
    """A section that a link can name."""
    return el("section", el("h2", title, id=f"{identifier}-title"), *children, id=identifier)


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


def figure(run: Mapping[str, Any], title: str, about: str, *children: object, recounted: bool = False) -> Markup:
    """A chart under its title, of what its numbers are, and which questions it counts (see `includes`)."""
    said = about + includes(run, recounted=recounted)
    return el("figure", el("figcaption", title, el("small", said)), *children)


def notes(said: Sequence[str]) -> Markup | None:
    """Notes, each once; None without any."""
    listed = list(dict.fromkeys(filter(None, said)))
    return el("ul", *(el("li", note) for note in listed), class_="notes") if listed else None


def paragraph(*children: object, css: str | None = None) -> Markup:
    """A paragraph."""
    return el("p", *children, class_=css)


def empty(said: str) -> Markup:
    """What stands where there is nothing to show."""
    return el("p", said, class_="empty")
