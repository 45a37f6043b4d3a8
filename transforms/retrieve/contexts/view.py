"""View: which text of a unit a context shows, and whether only what no better unit has shown."""

import json
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from memlake.transforms.retrieve.store.store import Store


@dataclass(frozen=True, slots=True)
class View:
    """How units are shown.

    Attributes:
        only_new: '' every unit whole; 'spans' of a slice what no better unit has shown; 'turns' the turns behind a unit
            that no better unit has shown.
        text: which text of a whole unit: 'show' what is shown, 'key' what is searched, 'quote' what it rests on.
        header: whether a whole unit stands behind its header.
    """

    only_new: Literal["", "spans", "turns"] = ""
    text: str = "show"
    header: bool = True


def texts_of(store: Store, view: View) -> pa.Array | pa.ChunkedArray:
    """What each unit shows when it is shown whole; a unit without a quote shows its show_text in a quote's place."""
    shown = store.units["show_text"]
    if view.text == "show" and view.header:
        return shown
    columns = (store.units[name].to_pylist() for name in ("show_text", "key_text", "header_chars", "attributes"))
    texts = []
    for show_text, key_text, header_chars, attributes in zip(*columns, strict=True):
        header, text = show_text[:header_chars], show_text[header_chars:]
        if view.text == "key":
            text = key_text.removeprefix(header)
            header = header if key_text.startswith(header) else ""
        elif view.text == "quote":
            text = _quote(attributes) or text
        texts.append(header + text if view.header else text)
    return pa.array(texts, pa.string())


def _quote(attributes: str | None) -> str:
    """The quote that a unit's attributes hold; '' for none."""
    held = json.loads(attributes) if attributes else {}
    quote = held.get("quote") if isinstance(held, dict) else None
    return quote if isinstance(quote, str) else ""
