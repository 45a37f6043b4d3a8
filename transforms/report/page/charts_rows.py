"""Charts of rows: a number with its interval in each, or a bar of shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from memlake.transforms.report.page.html import el, interval, share, signed
from memlake.transforms.report.page.svg import Scale, hue, line, mark, picture, short, tick_name, ticks, words

_WIDTH = 720.0
# Names take what they need within these; a longer one is cut, and stands whole in its tooltip and in the table.
_LEAST, _MOST = 96.0, 340.0
_LETTER = 7.3
_SAID = 176.0
_ROW = 24.0
_TOP, _FOOT = 8.0, 34.0


@dataclass(frozen=True, slots=True)
class Dot:
    """One row: a number with an interval; without a value the row says so. A heading has no number at all.

    Attributes:
        place: chooses colour and mark; None for one of many, which has neither of its own.
        beside: a published number, drawn as an upright bar.
    """

    name: str
    number: Mapping[str, Any] | None = None
    place: int | None = 0
    control: str = ""
    beside: float | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: shares by class; `parts` are (class, share) in the order drawn, `said` what stands at its end."""

    name: str
    parts: Sequence[tuple[str, float]] = field(default_factory=tuple)
    said: str = ""


def dot_chart(identifier: str, title: str, about: str, rows: Sequence[Dot], *, x: str, differences: bool) -> Markup:
    """Numbers with intervals, a row each, on one scale that holds zero."""
    values = [
        value
        for row in rows
        for value in (*((row.number[key] for key in ("value", "low", "high")) if row.number else ()), row.beside)
        if value is not None
    ]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.02)
    pad = (high - low) * 0.06
    left = _room([row.name for row in rows if row.number is not None])
    scale = Scale(low - (pad if differences else 0), high + pad, left, _WIDTH - _SAID - 12)
    bottom = _TOP + _ROW * len(rows)
    parts: list[Markup] = []
    for tick in ticks(low, high):
        css = "zero" if tick == 0 else "grid"
        parts += [
            line(scale(tick), _TOP, scale(tick), bottom, css),
            words(scale(tick), bottom + 15, tick_name(tick), anchor="middle"),
        ]
    for place, row in enumerate(rows):
        parts += _dot(row, _TOP + _ROW * (place + 0.5), scale, differences=differences)
    parts.append(words((left + _WIDTH - _SAID) / 2, bottom + 31, x, css="axis", anchor="middle"))
    return picture(identifier, title, about, _WIDTH, bottom + _FOOT, *parts)


def _dot(row: Dot, y: float, scale: Scale, *, differences: bool) -> list[Markup]:
    if row.number is None:
        return [words(4, y + 5, short(row.name, 60), css="strong", title=row.name)]
    made = [_name(row.name, scale.start, y + 4)]
    value, low, high = (row.number[key] for key in ("value", "low", "high"))
    if value is None:
        return [*made, words(_WIDTH - _SAID, y + 4, "no number", css="soft", title=row.number.get("note") or "")]
    css = hue(row.place, row.control)
    if low is not None and high is not None:
        made.append(line(scale(low), y, scale(high), y, f"whisker wide {css}"))
    if row.beside is not None:
        made.append(line(scale(row.beside), y - 8, scale(row.beside), y + 8, "published"))
    said = f"{signed(value) if differences else share(value)} {interval(row.number)}"
    made.append(mark(row.place or 0, scale(value), y, css, title=f"{row.name}: {said}"))
    made.append(words(_WIDTH - _SAID, y + 4, said))
    return made


def bar_chart(identifier: str, title: str, about: str, bars: Sequence[Bar], classes: Mapping[str, str]) -> Markup:
    """Bars of shares that add to 1, each class with a letter, so that a bar is read without its colours.

    Args:
        classes: what each class is called, in the order of the legend.
    """
    letters = {name: "abcdefghij"[place] for place, name in enumerate(classes)}
    left = _room([bar.name for bar in bars])
    scale = Scale(0, 1, left, _WIDTH - 110)
    parts, top = _legend(classes, letters)
    for place, bar in enumerate(bars):
        y = top + (_ROW + 4) * place
        parts.append(_name(bar.name, left, y + 16))
        start = 0.0
        for name, part in bar.parts:
            begin, end = scale(start), scale(start + part)
            said = f"{letters[name]} {100 * part:.0f}"
            label = el("title", f"{bar.name}: {classes[name]} {part:.1%}")
            parts.append(
                el(
                    "rect",
                    label,
                    x=begin,
                    y=y,
                    width=max(end - begin - 1, 0.5),
                    height=_ROW - 2,
                    class_=f"bar b-{name}",
                )
            )
            said = said if end - begin > 6.5 * len(said) + 2 else letters[name] if end - begin > 11 else ""
            if said:
                parts.append(words((begin + end) / 2, y + 15, said, css="on-bar", anchor="middle"))
            start += part
        parts.append(words(_WIDTH - 104, y + 16, bar.said, css="soft"))
    return picture(identifier, title, about, _WIDTH, top + (_ROW + 4) * len(bars) + 6, *parts)


def _room(names: Sequence[str]) -> float:
    """How far right a chart begins, so that its names fit before it."""
    return min(max(_LETTER * max(map(len, names), default=0) + 20, _LEAST), _MOST)


def _name(name: str, left: float, y: float) -> Markup:
    return words(left - 12, y, short(name, int((_MOST - 20) / _LETTER)), anchor="end", title=name)


def _legend(classes: Mapping[str, str], letters: Mapping[str, str]) -> tuple[list[Markup], float]:
    parts: list[Markup] = []
    x, y = 4.0, 4.0
    for name, called in classes.items():
        said = f"{letters[name]}  {called}"
        width = 34 + 7.2 * len(said)
        if x + width > _WIDTH:
            x, y = 4.0, y + 22
        parts += [
            el("rect", x=x, y=y, width=14, height=14, class_=f"bar b-{name}"),
            words(x + 20, y + 12, said),
        ]
        x += width
    return parts, y + 30
