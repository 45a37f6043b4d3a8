"""Line charts: numbers with intervals against tokens, costs or a dial, every line named at its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from memlake.transforms.report.page.charts_rows import (
    Scale,
    dash,
    hue,
    line,
    mark,
    picture,
    short,
    spread,
    tick_name,
    ticks,
    words,
)
from memlake.transforms.report.page.html import el, join

_WIDTH, _HEIGHT = 720.0, 390.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 184.0, 32.0, 50.0
_LABEL_GAP = 16.0
_LETTER = 7.6
_STEPS = 12
# From this ratio on, x is drawn by its logarithm: budgets double from one to the next.
_LOG_FROM = 6.0


@dataclass(frozen=True, slots=True)
class Line:
    """One series: points with x, value, low, high and n, by x.

    Attributes:
        place: chooses colour and mark; None for one of many, which is drawn faint and is not named.
        control: makes it grey.
    """

    name: str
    points: Sequence[Mapping[str, Any]]
    place: int | None
    control: str = ""


@dataclass(frozen=True, slots=True)
class Axes:
    """What the axes say.

    Attributes:
        around_zero: differences, whose zero is drawn; else the axis begins at 0.
        marks: places on x that are marked by an upright line, with what to call each.
    """

    x: str
    y: str
    around_zero: bool = False
    log_x: bool = True
    marks: Sequence[tuple[float, str]] = field(default_factory=tuple)


def line_chart(identifier: str, title: str, about: str, lines: Sequence[Line], axes: Axes) -> Markup:
    """A chart of lines; points of x = 0 (a context of nothing) are level lines across it."""
    known = [_known(series) for series in lines]
    level = [series for series in known if series.points and all(point["x"] == 0 for point in series.points)]
    drawn = [series for series in known if series.points and series not in level]
    xs = [point["x"] for series in drawn for point in series.points] or [0.0, 1.0]
    ys = [
        point[key]
        for series in known
        for point in series.points
        for key in ("value", "low", "high")
        if point[key] is not None
    ] or [0.0, 1.0]
    x_scale, x_ticks = _x_axis(xs, logarithmic=axes.log_x)
    y_scale, y_ticks = _y_axis(ys, around_zero=axes.around_zero)
    plot_right, plot_bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    grid = [
        join(
            line(_LEFT, y_scale(tick), plot_right, y_scale(tick), "zero" if tick == 0 else "grid"),
            words(_LEFT - 8, y_scale(tick) + 4, tick_name(tick), anchor="end"),
        )
        for tick in y_ticks
    ]
    foot = [
        join(
            line(x_scale(tick), plot_bottom, x_scale(tick), plot_bottom + 5, "grid"),
            words(x_scale(tick), plot_bottom + 19, tick_name(tick), anchor="middle"),
        )
        for tick in x_ticks
    ]
    upright = [
        join(
            line(x_scale(x), _TOP, x_scale(x), plot_bottom, "crossing", dashes="4 3"),
            words(x_scale(x) + 4, _TOP + 10 + 15 * place, said, css="strong"),
        )
        for place, (x, said) in enumerate(axes.marks)
    ]
    behind_first = sorted([*level, *drawn], key=lambda series: series.place is not None)
    return picture(
        identifier,
        title,
        about,
        _WIDTH,
        _HEIGHT,
        *grid,
        *foot,
        words((_LEFT + plot_right) / 2, _HEIGHT - 10, axes.x, css="axis", anchor="middle"),
        words(_LEFT - 40, 14, axes.y, css="axis"),
        *upright,
        *(_series(series, x_scale, y_scale, plot_right, is_level=series in level) for series in behind_first),
        *_labels([*level, *drawn], x_scale, y_scale, plot_right, plot_bottom),
    )


def _known(series: Line) -> Line:
    return replace(series, points=[point for point in series.points if point["value"] is not None])


def _x_axis(xs: Sequence[float], *, logarithmic: bool) -> tuple[Scale, list[float]]:
    low, high = min(xs), max(xs)
    end = _WIDTH - _RIGHT - 12
    if logarithmic and low > 0 and high / low >= _LOG_FROM:
        steps = [m * 10.0**power for power in range(-9, 12) for m in (1, 2, 5)]
        return Scale(low, high, _LEFT + 14, end, logarithmic=True), [step for step in steps if low <= step <= high]
    if low == high:
        low, high = (low - 1, high + 1) if low < 1 else (0.0, high * 1.25)
    elif logarithmic:
        pad = (high - low) * 0.08
        low, high = max(0.0, low - pad), high + pad
    return Scale(low, high, _LEFT + 14, end), ticks(low, high)


def _y_axis(ys: Sequence[float], *, around_zero: bool) -> tuple[Scale, list[float]]:
    low, high = min(0.0, *ys), max(0.0, *ys)
    if around_zero:
        pad = max((high - low) * 0.1, 0.02)
        low, high = low - pad, high + pad
    else:
        high = 1.0 if 0.55 < high <= 1 else (high * 1.12 or 1.0)
    return Scale(low, high, _HEIGHT - _BOTTOM, _TOP), ticks(low, high)


def _series(series: Line, x_scale: Scale, y_scale: Scale, right: float, *, is_level: bool) -> Markup:
    css, dashes = hue(series.place, series.control), dash(series.place, series.control)
    if is_level:
        y = y_scale(series.points[0]["value"])
        return line(_LEFT, y, right, y, f"line {css}", dashes=dashes or "2 3")
    places = [(x_scale(point["x"]), y_scale(point["value"]), point) for point in series.points]
    whiskers = [
        line(x, y_scale(point["low"]), x, y_scale(point["high"]), f"whisker {css}")
        for x, _, point in places
        if point["low"] is not None and point["high"] is not None
    ]
    path = el(
        "polyline", points=" ".join(f"{x},{y}" for x, y, _ in places), class_=f"line {css}", stroke_dasharray=dashes
    )
    if series.place is None:
        dots = [mark(0, x, y, css, size=2, title=point.get("title", series.name)) for x, y, point in places]
        return el("g", path if len(places) > 1 else None, *dots)
    marks = [mark(series.place, x, y, css, title=point.get("title", series.name)) for x, y, point in places]
    return el("g", *whiskers, path if len(places) > 1 else None, *marks)


def _labels(lines: Sequence[Line], x_scale: Scale, y_scale: Scale, right: float, bottom: float) -> list[Markup]:
    ends = [(series, series.points[-1]) for series in lines if series.place is not None]
    taken = [spot for series in lines for spot in _along(series, x_scale, y_scale)]
    made = []
    for series, point in list(ends):
        place = None if point["x"] == 0 else (x_scale(point["x"]) + 10, y_scale(point["value"]) + 4)
        if place is not None and _free(place, short(series.name, 21), right, taken):
            made.append(words(*place, short(series.name, 21), title=series.name))
            ends.remove((series, point))
    heights = spread([y_scale(point["value"]) for _, point in ends], gap=_LABEL_GAP, low=_TOP, high=bottom)
    for (series, point), y in zip(ends, heights, strict=True):
        x = right if all(each["x"] == 0 for each in series.points) else x_scale(point["x"]) + 7
        css = hue(series.place, series.control)
        made += [
            el("polyline", points=f"{x},{y_scale(point['value'])} {right + 6},{y} {right + 12},{y}", class_="leader"),
            mark(series.place or 0, right + 20, y, css, size=4),
            words(right + 30, y + 4, short(series.name, 21), title=series.name),
        ]
    return made


def _along(series: Line, x_scale: Scale, y_scale: Scale) -> list[tuple[float, float]]:
    """Places that a line takes: its points, and some between them."""
    if any(point["x"] == 0 for point in series.points):
        return []
    spots = [(x_scale(point["x"]), y_scale(point["value"])) for point in series.points]
    between = [
        (x0 + (x1 - x0) * step / _STEPS, y0 + (y1 - y0) * step / _STEPS)
        for (x0, y0), (x1, y1) in pairwise(spots)
        for step in range(1, _STEPS)
    ]
    return [*spots, *between]


def _free(place: tuple[float, float], name: str, right: float, taken: Sequence[tuple[float, float]]) -> bool:
    """Whether a label fits where its line ends: far from the margin in which others are named, and over nothing."""
    x, y = place
    end = x + _LETTER * len(name)
    if end > right - 20:
        return False
    return not any(x - 3 <= spot <= end and y - 18 <= height <= y + 10 for spot, height in taken)
