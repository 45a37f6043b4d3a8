"""Charts: well formed whatever they are given, nothing outside the frame, and no label on another."""

import re
from itertools import pairwise
from math import isfinite
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.report.page.charts_lines import Axes, Line, line_chart
from memlake.transforms.report.page.charts_rows import Bar, Dot, bar_chart, dot_chart, spread, ticks

NUMBERS = st.floats(0, 1, allow_subnormal=False)


def point(x, value, reach=0.1):
    low, high = (None, None) if value is None or reach is None else (value - reach, value + reach)
    return {"x": x, "value": value, "low": low, "high": high, "n": 10, "excluded": 0, "note": None}


def drawn(markup):
    """The SVG as a tree; every number in it is one."""
    svg = ET.fromstring(re.search(r"<svg.*</svg>", markup, re.DOTALL)[0])
    numbers = [
        value
        for node in svg.iter()
        for key, value in node.attrib.items()
        if key in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy")
    ]
    assert all(isfinite(float(number)) for number in numbers)
    assert "nan" not in markup.lower()
    return svg


def texts(svg):
    return ["".join(node.itertext()) for node in svg.iter() if node.tag == "text"]


@given(
    series=st.lists(
        st.lists(st.tuples(st.floats(0, 1e5, allow_subnormal=False), st.one_of(st.none(), NUMBERS)), max_size=5),
        max_size=12,
    ),
    around_zero=st.booleans(),
)
def test_a_line_chart_is_well_formed_whatever_its_numbers(series, around_zero):
    lines = [
        Line(f"cell {place}", [point(x, value) for x, value in sorted(points, key=lambda pair: pair[0])], place)
        for place, points in enumerate(series)
    ]
    svg = drawn(line_chart("c", "title", "about", lines, Axes("x", "y", around_zero=around_zero)))
    named = [line.name for line in lines if any(plotted["value"] is not None for plotted in line.points)]
    assert set(named) <= set(texts(svg))


def test_twelve_lines_at_one_place_have_labels_apart_and_inside():
    lines = [Line(f"cell {place}", [point(100, 0.5), point(1000, 0.5)], place) for place in range(12)]
    svg = drawn(line_chart("c", "t", "a", lines, Axes("x", "y")))
    heights = sorted(float(node.get("y")) for node in svg.iter("text") if "".join(node.itertext()).startswith("cell"))
    assert len(heights) == 12
    assert all(upper + 12 <= lower for upper, lower in pairwise(heights))
    assert heights[-1] <= float(svg.get("height"))


def test_series_of_one_colour_differ_by_mark_or_dash():
    def look(place):
        line = Line("one", [point(1, 0.2), point(2, 0.4)], place)
        svg = drawn(line_chart("c", "t", "a", [line], Axes("x", "y")))
        marks = [
            (node.tag, re.sub(r"[\d.-]+", "", node.get("d", "")))
            for node in svg.iter()
            if "mark" in node.get("class", "")
        ]
        dashes = [node.get("stroke-dasharray") for node in svg.iter("polyline") if "line" in node.get("class").split()]
        return marks[0], dashes[0], next(node.get("class") for node in svg.iter("polyline"))

    assert len({look(place) for place in range(24)}) == 24


def test_a_line_without_a_place_is_drawn_faint_and_is_not_named_and_names_take_no_more_than_the_frame():
    lines = [Line(f"one of many {place}", [point(10, 0.5), point(1000, 0.6)], None) for place in range(40)]
    lines += [Line("told", [point(10, 0.2), point(1000, 0.6)], 0)]
    svg = drawn(line_chart("c", "t", "a", lines, Axes("x", "y")))
    assert [said for said in texts(svg) if "many" in said or said == "told"] == ["told"]
    assert sum("line c-faint" in node.get("class", "") for node in svg.iter("polyline")) == 40
    assert any("one of many 7" in "".join(node.itertext()) for node in svg.iter("title"))


def test_a_line_that_ends_far_from_the_margin_is_named_where_it_ends_unless_another_runs_there():
    alone = Line("gold", [point(90, 0.9)], 1)
    far = Line("chunks", [point(400, 0.2), point(4000, 0.3)], 0)
    below = Line("turns", [point(90, 0.88), point(4000, 0.9)], 2)

    def place_of_name(*lines):
        svg = drawn(line_chart("c", "t", "a", lines, Axes("x", "y")))
        (name,) = (node for node in svg.iter("text") if "".join(node.itertext()) == "gold")
        return float(name.get("x"))

    assert place_of_name(alone, far) < 200
    assert place_of_name(alone, far, below) > 536


def test_a_context_of_nothing_is_a_level_line_beside_a_logarithm():
    lines = [Line("nothing", [point(0, 0.1)], 0, "nothing"), Line("chunks", [point(100, 0.2), point(8000, 0.6)], 1)]
    svg = drawn(line_chart("c", "t", "a", lines, Axes("x", "y")))
    assert {"nothing", "chunks", "1,000"} <= set(texts(svg))


@pytest.mark.parametrize("differences", [True, False])
def test_rows_without_a_number_say_so_and_a_hostile_or_long_name_is_cut_with_the_whole_in_its_title(differences):
    name = "<b>" + "n" * 200
    rows = [
        Dot("heading"),
        Dot(name, point(0, 0.3), 1, beside=0.5),
        Dot("gone", point(0, None), 2),
        Dot("no interval", point(0, 0.1, None), 3),
    ]
    markup = dot_chart("c", "t", "a", rows, x="x", differences=differences)
    svg = drawn(markup)
    assert "no number" in texts(svg)
    assert name in [node.text for node in svg.iter("title")]
    assert "<b>" not in markup
    assert any("no interval" in text for text in texts(svg))


@given(shares=st.lists(NUMBERS, min_size=1, max_size=7))
def test_a_bar_fills_its_row_and_no_more(shares):
    total = sum(shares) or 1.0
    classes = {f"k{place}": f"class {place}" for place in range(len(shares))}
    bar = Bar("cell", [(name, share / total) for name, share in zip(classes, shares, strict=True)], "n 10")
    svg = drawn(bar_chart("c", "t", "a", [bar], classes))
    ends = [float(node.get("x")) + float(node.get("width")) for node in svg.iter("rect") if node.get("height") != "14"]
    assert max(ends) <= 720 - 110 + 1


def test_an_empty_bar_and_no_rows_at_all_are_drawn():
    drawn(bar_chart("c", "t", "a", [Bar("cell", [], "n 0")], {"correct": "correct"}))
    drawn(dot_chart("c", "t", "a", [], x="x", differences=False))


@given(wanted=st.lists(st.floats(0, 300, allow_subnormal=False), max_size=15))
def test_labels_keep_their_order_and_their_distance(wanted):
    placed = spread(wanted, gap=16, low=0, high=300)
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    heights = [placed[place] for place in order]
    assert all(above + 15.98 <= below for above, below in pairwise(heights))
    assert all(height <= 300 for height in heights)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-200), (1e5, 1e5 + 2e-11), (0.0, 3e-11), (-1e-300, 1e-300)])
def test_a_range_that_is_all_but_nothing_has_a_few_ticks_too(low, high):
    assert len(ticks(low, high)) <= 8


@given(low=st.floats(-1e6, 1e6, allow_subnormal=False), span=st.floats(1e-6, 1e6))
def test_ticks_are_few_and_within_the_range(low, span):
    found = ticks(low, low + span)
    assert len(found) <= 7
    assert all(low - span * 1e-3 <= tick <= low + span * (1 + 1e-3) for tick in found)
