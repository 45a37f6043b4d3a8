"""Dates in English text, by pattern, and the calendar date that each means.

Known are ISO dates, a day with month and year (8 May, 2023; May 8th, 2023), a month with a year, a bare year from 1900 to
2099, and three relative forms: yesterday, last X (night, week, weekend, month, year, a season, a day of the week), and
N days, weeks, months or years ago. A date is as fine as its words are: 'last month' is a month. What the words do not fix
(last summer, a few days ago) is found and has no date: it is never guessed.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from memlake.transforms.text.dates import MONTHS

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_MONTH = "|".join(f"{name}|sept|{name[:3]}" if name == "september" else f"{name}|{name[:3]}" for name in MONTHS)
# The longest form first: a day with its year is one date, not two.
_FORMS = (
    r"\d{4}-\d{2}-\d{2}",
    rf"\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTH})\.?,?\s+(?:19|20)\d\d",
    rf"(?:{_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+(?:19|20)\d\d",
    rf"(?:{_MONTH})\.?,?\s+(?:of\s+)?(?:19|20)\d\d",
    r"(?:19|20)\d\d",
    r"yesterday",
    rf"last\s+(?:night|weekend|week|month|year|spring|summer|autumn|fall|winter|{'|'.join(_DAYS)})",
    rf"(?:\d{{1,3}}|a\s+few|a\s+couple(?:\s+of)?|several|{'|'.join(_COUNTS)})\s+(?:day|week|month|year)s?\s+ago",
)
_DATE = re.compile(rf"(?<![\w-])(?:{'|'.join(_FORMS)})(?![\w-])", re.ASCII | re.IGNORECASE)


def date_spans(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the dates in a text, in code points, in order; none overlap."""
    return (match.span() for match in _DATE.finditer(text))


def resolved(words: str, anchor: date | None) -> str | None:
    """The date that the words of one span mean: YYYY-MM-DD, YYYY-MM or YYYY; None when they or the calendar do not say.

    Args:
        words: as `date_spans` finds them.
        anchor: the day on which they were said; relative words mean nothing without it.
    """
    try:
        return _absolute(words.lower()) or (_relative(words.lower(), anchor) if anchor else None)
    except (ValueError, OverflowError):  # no such day, or none in the calendar
        return None


def _absolute(words: str) -> str | None:
    if re.fullmatch(_FORMS[0], words, re.ASCII):
        return date.fromisoformat(words).isoformat()
    year = re.search(r"(?:19|20)\d\d$", words)
    if year is None:
        return None
    rest = words[: year.start()]
    name = re.search(_MONTH, rest)
    if name is None:
        return year[0]
    month = next(place for place, month_name in enumerate(MONTHS, 1) if month_name.startswith(name[0]))
    day = re.search(r"\d{1,2}", rest)
    return date(int(year[0]), month, int(day[0])).isoformat() if day else f"{year[0]}-{month:02d}"


def _relative(words: str, anchor: date) -> str | None:
    if words == "yesterday":
        return _days_before(anchor, 1)
    first, *_, last = words.split()
    if first == "last":
        if last in _DAYS:
            return _days_before(anchor, (anchor.weekday() - _DAYS.index(last) - 1) % 7 + 1)
        if last == "weekend":  # its Saturday
            return _days_before(anchor, (anchor.weekday() - _DAYS.index("saturday") - 1) % 7 + 1)
        units = {"night": "day", "week": "week", "month": "month", "year": "year"}
        return _before(anchor, 1, units[last]) if last in units else None
    *counted, unit, _ = words.split()
    count = int(counted[0]) if counted[0].isdigit() else _COUNTS.get(" ".join(counted))
    return None if count is None else _before(anchor, count, unit.removesuffix("s"))


def _before(anchor: date, count: int, unit: str) -> str:
    """The day, month or year that lies so many units before a day."""
    if unit == "day":
        return _days_before(anchor, count)
    if unit == "week":
        return _days_before(anchor, 7 * count)
    if unit == "year":
        return date(anchor.year - count, 1, 1).isoformat()[:4]
    year, month = divmod(anchor.year * 12 + anchor.month - 1 - count, 12)
    return date(year, month + 1, 1).isoformat()[:7]


def _days_before(anchor: date, days: int) -> str:
    return (anchor - timedelta(days=days)).isoformat()
