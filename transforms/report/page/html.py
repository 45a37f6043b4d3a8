"""Markup that escapes by default: whatever is not made here is text, and text can make no markup."""

import re
from html import escape

# Signs that a page would not show: controls, marks that reorder a line, spaces of no width. A line break and a tab stay,
# and so do the joiners that emoji and several scripts need.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as escaped text; signs that cannot be seen are written as their code point."""
    shown = _HIDDEN.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", str(value))
    return Markup(escape(shown))


def join(*children: object) -> Markup:
    """Children one after another: markup as it stands, None as nothing, everything else as text."""
    return Markup("".join(one if isinstance(one, Markup) else text(one) for one in children if one is not None))


def el(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is class, other '_' are '-'; an attribute of None or False is left out, True stands alone."""
    listed = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        listed.append(f" {label}" if value is True else f' {label}="{text(value)}"')
    return Markup(f"<{name}{''.join(listed)}>{join(*children)}</{name}>")


def void(name: str, /, **attributes: object) -> Markup:
    """An element that has no end tag."""
    return Markup(el(name, **attributes).removesuffix(f"</{name}>"))


def data_block(identifier: str, json: str) -> Markup:
    """JSON in a script element that runs nothing and that no text in it can end."""
    for sign in "<>&\u2028\u2029":
        json = json.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{text(identifier)}">{json}</script>')
