"""Charts of one row a cell, dots with intervals and bars; and the parts that charts share: scales, ticks, marks, labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

from markupsafe import Markup

from memlake.transforms.report.page.html import el, interval, join, share, signed

# Series differ in colour, mark and dash at once, so that none of them alone must be seen: 7 hues of Okabe and Ito.
HUES = 7
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 4", "12 4")


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale from values [low, high] to pixels [start, end], linear or by the logarithm of values."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = log10(low), log10(high), log10(value)
        return round(self.start + (value - low) / (high - low or 1.0) * (self.end - self.start), 2)


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round values within a range, at most `most`."""
    span = high - low
    if span <= 0:
        return [low]
    power = 10.0 ** _floor_log10(span / most)
    step = next(step * power for step in (1, 2, 5, 10, 20) if span / (step * power) <= most)
    first, places = -(-low // step), 10 - min(0, _floor_log10(step))
    # Counted, since a step may be too small to change a large value.
    values = [round((first + place) * step, places) + 0.0 for place in range(most + 2)]
    return [value for value in dict.fromkeys(values) if value <= high + step * 1e-9]


def tick_name(tick: float) -> str:
    """A tick as an axis prints it."""
    return f"{tick:,g}".replace("-", "\u2212")


def _floor_log10(value: float) -> int:
    power = 0
    while value < 1:
        value, power = value * 10, power - 1
    while value >= 10:
        value, power = value / 10, power + 1
    return power


def hue(place: int | None, control: str = "") -> str:
    """The class of a series: its colour by place, grey for a bound, faint for one of many that has no place."""
    if place is None:
        return "c-faint"
    return "c-control" if control else f"c{place % HUES}"


def dash(place: int | None, control: str = "") -> str | None:
    """The dash of a line; the first seven differ by colour and mark already, later ones by dash too."""
    if place is None:
        return None
    if control:
        return _DASHES[2]
    return _DASHES[place // HUES % len(_DASHES)] or None


def mark(place: int, x: float, y: float, css: str, *, size: float = 4.5, title: str = "") -> Markup:
    """A mark of one of eight shapes."""
    s = size
    kind = place % 8
    label = el("title", title) if title else None
    if kind == 0:
        return el("circle", label, cx=x, cy=y, r=s, class_=f"mark {css}")
    paths = {
        1: f"M{x - s} {y - s}h{2 * s}v{2 * s}h{-2 * s}z",
        2: f"M{x} {y - s * 1.25}L{x + s * 1.15} {y + s * 0.85}H{x - s * 1.15}z",
        3: f"M{x} {y - s * 1.35}L{x + s * 1.35} {y}L{x} {y + s * 1.35}L{x - s * 1.35} {y}z",
        4: f"M{x} {y + s * 1.25}L{x + s * 1.15} {y - s * 0.85}H{x - s * 1.15}z",
        5: f"M{x - s} {y}h{2 * s}M{x} {y - s}v{2 * s}",
        6: f"M{x - s} {y - s}l{2 * s} {2 * s}M{x - s} {y + s}l{2 * s} {-2 * s}",
        7: f"M{x - s * 1.2} {y - s * 0.7}h{s * 2.4}v{s * 1.4}h{-s * 2.4}z",
    }
    return el("path", label, d=paths[kind], class_=f"mark {'open ' if kind in (5, 6) else ''}{css}")


def spread(ideal: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Places for labels near the ideal ones, at least `gap` apart within [low, high], in the same order of height."""
    order = sorted(range(len(ideal)), key=lambda place: ideal[place])
    placed = [0.0] * len(ideal)
    floor = low
    for place in order:
        placed[place] = max(ideal[place], floor)
        floor = placed[place] + gap
    ceiling = high
    for place in reversed(order):
        placed[place] = min(placed[place], ceiling)
        ceiling = placed[place] - gap
    return [round(y, 2) for y in placed]


def short(name: str, most: int = 22) -> str:
    """A name cut in its middle to fit a chart, since names often differ at their ends; the table has the whole."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return f"{name[: most - 1 - tail]}\u2026{name[-tail:]}"


def picture(identifier: str, title: str, about: str, width: float, height: float, *parts: object) -> Markup:
    """An SVG that says what it is to those who do not see it, in a box that scrolls by itself where it is too wide."""
    svg = el(
        "svg",
        el("title", title, id=f"{identifier}-t"),
        el("desc", about, id=f"{identifier}-d"),
        join(*parts),
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        aria_labelledby=f"{identifier}-t {identifier}-d",
    )
    return el("div", svg, class_="chart", tabindex="0", role="group", aria_label=f"{title} (scrolls sideways)")


def words(x: float, y: float, said: str, *, css: str = "", anchor: str = "start", title: str = "") -> Markup:
    """Text at a place."""
    label = el("title", title) if title and title != said else None
    return el("text", label, said, x=x, y=y, class_=css or None, text_anchor=None if anchor == "start" else anchor)


def line(x1: float, y1: float, x2: float, y2: float, css: str, *, dashes: str | None = None) -> Markup:
    """A straight line."""
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css, stroke_dasharray=dashes)


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
