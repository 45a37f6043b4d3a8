import locale
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.text.dates import iso_minutes, label_of, parse_time


def at(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1:56 pm on 8 May, 2023", (at(2023, 5, 8, 13, 56), False)),
        ("12:09 am on 13 September, 2023", (at(2023, 9, 13, 0, 9), False)),
        ("12:09 pm on 13 September, 2023", (at(2023, 9, 13, 12, 9), False)),
        ("8 May, 2023", (at(2023, 5, 8), False)),
        ("2023/05/30 (Tue) 23:40", (at(2023, 5, 30, 23, 40), False)),
        ("March-15-2024", (at(2024, 3, 15), False)),
        ("2024年04月01日 周一 08:12", (at(2024, 4, 1, 8, 12), False)),
        ("2024年4月1日 星期天", (at(2024, 4, 1), False)),
        ("2023-05-08T13:56", (at(2023, 5, 8, 13, 56), False)),
        ("2023-05-08 13:56:01", (at(2023, 5, 8, 13, 56, 1), False)),
        ("2023-05-08T13:56:00Z", (at(2023, 5, 8, 13, 56), True)),
        ("2023-05-08T13:56+09:00", (at(2023, 5, 8, 4, 56), True)),
        (1_683_554_160, (at(2023, 5, 8, 13, 56), True)),
        (1_683_554_160_000, (at(2023, 5, 8, 13, 56), True)),
        ("1683554160.000008", (at(2023, 5, 8, 13, 56) + 8, True)),
        (1683554160.5, (at(2023, 5, 8, 13, 56) + 500_000, True)),
    ],
)
def test_known_dates_become_utc_and_say_whether_the_zone_was_known(value, expected):
    assert parse_time(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        None, "", "yesterday", "2023/04/31 (Mon) 17:50", "13:56 pm on 8 May, 2023", "0:10 am on 8 May, 2023",
        "1:56 pm on 8 Maj, 2023", "31 February, 2023", "Marsh-15-2024", "June-31-2024", "2024年13月01日 周一 08:12", "2024年04月01日 周一 25:12", True, float("nan"), float("inf"), 10**30, 10**400, [], {}, "2023-13-01",
        "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00",
    ],
)  # fmt: skip
def test_a_broken_date_is_none_and_never_now(value):
    assert parse_time(value) is None


_ZONED = st.tuples(
    st.sampled_from(["0001-01-01T00:00:00", "9999-12-31T23:59:59", "2023-05-08T10:00"]),
    st.integers(0, 23),
    st.sampled_from("+-"),
).map(lambda drawn: f"{drawn[0]}{drawn[2]}{drawn[1]:02d}:30")


@given(st.one_of(st.text(), st.integers(), st.floats(), st.datetimes().map(str), _ZONED, st.none()))
def test_no_value_raises_and_all_times_fit_the_calendar(value):
    moment = parse_time(value)
    if moment is not None:
        iso_minutes(*moment)
    label_of(value)


def test_a_label_is_what_the_source_prints_and_iso_minutes_for_machine_dates():
    assert label_of("1:56 pm on 8 May, 2023") == "1:56 pm on 8 May, 2023"
    assert label_of("2023/05/30 (Tue) 23:40") == "2023/05/30 (Tue) 23:40"
    assert label_of("March-15-2024") == "March-15-2024"
    assert label_of("2024年04月01日 周一 08:12") == "2024年04月01日 周一 08:12"
    assert label_of("2023-05-08T13:56:30") == "2023-05-08T13:56"
    assert label_of(1_683_554_160) == "2023-05-08T13:56Z"
    assert label_of("some day in May") == "some day in May"
    assert label_of(None) is None
    assert label_of(" ") is None


def test_neither_the_time_zone_nor_the_locale_of_the_process_changes_a_date():
    code = (
        "import locale, sys\n"
        "try: locale.setlocale(locale.LC_ALL, sys.argv[1])\n"
        "except locale.Error: pass\n"
        "from memlake.transforms.text.dates import parse_time\n"
        "print([parse_time(v) for v in ('12:09 am on 13 September, 2023', '2023-05-08T13:56', 1683554160)])"
    )
    spare = [name for name in ("fr_FR.UTF-8", "C") if name in locale.locale_alias.values() or name == "C"]
    seen = {
        subprocess.run(
            [sys.executable, "-c", code, name],
            env={**os.environ, "TZ": zone, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for name in spare
        for zone in ("Asia/Tokyo", "UTC")
    }
    assert len(seen) == 1
