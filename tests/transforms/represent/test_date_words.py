"""Dates in English text: which words are one, and what they mean."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.represent.as_published.date_words import date_spans, resolved

# A Wednesday.
ANCHOR = date(2023, 5, 10)


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in date_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met on 8 May, 2023 and on May 9th 2023.", ["8 May, 2023", "May 9th 2023"]),
        ("the 3rd of July 2021; Sept. 2020, sep 2019", ["3rd of July 2021", "Sept. 2020", "sep 2019"]),
        ("In March 2020, in March of 2021, in 1999.", ["March 2020", "March of 2021", "1999"]),
        ("due 2024-02-29!", ["2024-02-29"]),
        (
            "Yesterday, last\nFriday and 3 weeks ago; a couple of days ago",
            ["Yesterday", "last\nFriday", "3 weeks ago", "a couple of days ago"],
        ),
        ("Last summer was long, the last minute too", ["Last summer"]),
        ("It may be 20 or 12023, order 2023-1234, x2020, in May", []),
        ("", []),
    ],
)
def test_the_dates_of_known_texts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("8 May, 2023", "2023-05-08"),
        ("May 9th 2023", "2023-05-09"),
        ("3rd of July 2021", "2021-07-03"),
        ("Dec 2020", "2020-12"),
        ("Sept. 2020", "2020-09"),
        ("March of 2021", "2021-03"),
        ("1999", "1999"),
        ("2024-02-29", "2024-02-29"),
        ("31 June 2023", None),
        ("2023-02-29", None),
        ("Yesterday", "2023-05-09"),
        ("last night", "2023-05-09"),
        ("last week", "2023-05-03"),
        ("last month", "2023-04"),
        ("last year", "2022"),
        ("last Tuesday", "2023-05-09"),
        ("last Wednesday", "2023-05-03"),
        ("last Thursday", "2023-05-04"),
        ("last weekend", "2023-05-06"),
        ("last summer", None),
        ("ten days ago", "2023-04-30"),
        ("a week ago", "2023-05-03"),
        ("5 months ago", "2022-12"),
        ("two years ago", "2021"),
        ("a few days ago", None),
        ("several years ago", None),
        ("a couple of weeks ago", None),
    ],
)
def test_what_dates_mean_is_as_fine_as_their_words_and_never_guessed(said: str, means: str | None) -> None:
    assert words(f"It was {said}.") == [said]
    assert resolved(said, ANCHOR) == means


@pytest.mark.parametrize("said", ["yesterday", "last week", "3 years ago"])
def test_relative_words_mean_nothing_without_a_day_or_before_the_calendar(said: str) -> None:
    assert resolved(said, None) is None
    assert resolved(said, date(1, 1, 1)) is None


def test_absolute_words_need_no_day() -> None:
    assert resolved("8 May, 2023", None) == "2023-05-08"


@given(st.integers(0, 999), st.sampled_from(["day", "week", "month", "year"]), st.dates())
def test_so_many_units_ago_lies_so_many_units_back(count: int, unit: str, anchor: date) -> None:
    means = resolved(f"{count} {unit}s ago", anchor)
    days = {"day": count, "week": 7 * count}.get(unit)
    if means is None:
        assert anchor.toordinal() - count * {"day": 1, "week": 7, "month": 31, "year": 366}[unit] < 1
    elif days is not None:
        assert date.fromisoformat(means).toordinal() == anchor.toordinal() - days
    else:
        year, month = (int(part) for part in f"{means}-01".split("-")[:2])
        months = (anchor.year - year) * 12 + (anchor.month - month if unit == "month" else 0)
        assert months == count * {"month": 1, "year": 12}[unit]


@given(st.text(st.sampled_from("May 0129-,.lastgo k"), max_size=60))
def test_spans_are_in_order_and_any_of_them_can_be_asked_about(text: str) -> None:
    at = 0
    for start, end in date_spans(text):
        assert at <= start < end
        at = end
        resolved(text[start:end], ANCHOR)
