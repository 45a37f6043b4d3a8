"""Dates as transcripts print them, to UTC microseconds, without the locale, the local time zone or a guess."""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_CLOCK = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
# '1:56 pm on 8 May, 2023' and '8 May, 2023'.
_SPOKEN = re.compile(
    r"(?:(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+)?(\d{1,2})\s+([a-z]{3,9})\.?,?\s+(\d{4})", re.ASCII | re.IGNORECASE
)
# '2023/05/30 (Tue) 23:40'.
_SLASHED = re.compile(
    r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s+\([A-Za-z]+\))?(?:\s+(\d{1,2}):(\d{2})(?::(\d{2}))?)?", re.ASCII
)
# 'March-15-2024'.
_DASHED = re.compile(r"([a-z]{3,9})-(\d{1,2})-(\d{4})", re.ASCII | re.IGNORECASE)
# '2024年04月01日 周一 08:12'.
_CHINESE = re.compile(
    r"(\d{4})年(\d{1,2})月(\d{1,2})日(?:\s*(?:周|星期)[一二三四五六日天])?(?:\s*(\d{1,2}):(\d{2})(?::(\d{2}))?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"-?\d{9,17}(?:\.\d+)?", re.ASCII)


def parse_time(value: object) -> tuple[int, bool] | None:
    """Return (UTC microseconds, whether the source named a zone); None when it is no date that we know.

    Known are ISO 8601 (naive, Z, offset), '1:56 pm on 8 May, 2023', '2023/05/30 (Tue) 23:40', 'March-15-2024',
    '2024年04月01日 周一 08:12' and the time since 1970 in seconds, milliseconds or microseconds, told apart by magnitude. A
    clock without a zone is read as UTC and marked; a date without a clock is its midnight.
    """
    if isinstance(value, str):
        found = _parse_text(value.strip())
        return found and found[:2]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return _from_epoch(Decimal(value))


def label_of(value: object) -> str | None:
    """The session label of a date: as the source prints it, ISO minutes when the source is machine-formatted.

    A date that cannot be read is still what the source prints; null, blank and other values have no label.
    """
    if isinstance(value, str):
        found = _parse_text(value.strip())
        if found and not found[2]:
            return iso_minutes(found[0], found[1])
        return value if value.strip() else None
    moment = parse_time(value)
    return iso_minutes(*moment) if moment else None


def iso_minutes(at: int, zone_known: bool) -> str:
    """UTC microseconds as '2023-05-08T13:56', with a final Z when the zone is known."""
    moment = _EPOCH_CLOCK + timedelta(microseconds=at)
    return moment.isoformat(timespec="minutes") + ("Z" if zone_known else "")


# The date of a session stands on each of its turns, so most calls repeat an earlier one.
@lru_cache(maxsize=4096)
def _parse_text(text: str) -> tuple[int, bool, bool] | None:
    """Microseconds, whether the zone is known, and whether the text is made for people."""
    if _NUMBER.fullmatch(text):
        epoch = _from_epoch(Decimal(text))
        return epoch and (*epoch, False)
    try:
        at, zone_known = _microseconds(datetime.fromisoformat(text))
    except ValueError:
        pass
    else:
        # An offset may lead out of the calendar: 9999-12-31T23:00-02:00.
        return (at, zone_known, False) if _FIRST <= at <= _LAST else None
    try:
        if spoken := _SPOKEN.fullmatch(text):
            moment = _from_spoken(*spoken.groups())
            return moment and (*moment, True)
        if numbered := _SLASHED.fullmatch(text) or _CHINESE.fullmatch(text):
            year, month, day, hour, minute, second = (int(part or 0) for part in numbered.groups())
            return (*_unzoned(year, month, day, hour, minute, second), True)
        if dashed := _DASHED.fullmatch(text):
            moment = _from_spoken(None, None, None, dashed[2], dashed[1], dashed[3])
            return moment and (*moment, True)
    except ValueError:
        return None
    return None


def _from_spoken(
    hour: str | None, minute: str | None, half: str | None, day: str, month: str, year: str
) -> tuple[int, bool] | None:
    names = [name[:3] for name in MONTHS] if len(month) == 3 else MONTHS
    if month.lower() not in names:
        return None
    number = names.index(month.lower()) + 1
    if hour is None or minute is None or half is None:
        return _unzoned(int(year), number, int(day))
    if not 1 <= int(hour) <= 12:
        return None
    # 12 am is midnight and 12 pm is noon.
    hours = int(hour) % 12 + (12 if half.lower() == "p" else 0)
    return _unzoned(int(year), number, int(day), hours, int(minute))


def _unzoned(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> tuple[int, bool]:
    return (datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH) // _MICROSECOND, False


def _microseconds(moment: datetime) -> tuple[int, bool]:
    zone_known = moment.tzinfo is not None
    return (moment - (_EPOCH if zone_known else _EPOCH_CLOCK)) // _MICROSECOND, zone_known


def _from_epoch(value: Decimal) -> tuple[int, bool] | None:
    """Seconds below 1e11 (year 5138), milliseconds below 1e14, microseconds above."""
    size = abs(value)
    scale = 1_000_000 if size < 100_000_000_000 else 1_000 if size < 100_000_000_000_000 else 1
    at = int((value * scale).to_integral_value())
    return (at, True) if _FIRST <= at <= _LAST else None
