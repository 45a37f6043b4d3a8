"""Parts that charts share: scales, ticks, marks, and labels that keep out of each other's way."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from markupsafe import Markup

from memlake.transforms.report.page.html import el, join

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


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Places for labels near those wanted, at least `gap` apart within [low, high], in the same order of height."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    placed = [0.0] * len(wanted)
    floor = low
    for place in order:
        placed[place] = max(wanted[place], floor)
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
