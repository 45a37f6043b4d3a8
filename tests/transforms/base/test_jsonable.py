from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from memlake.transforms.base.jsonable import jsonable


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (float("inf"), None),
        ({"a": [float("nan"), 1.5]}, {"a": [None, 1.5]}),
        (datetime(2024, 5, 6, 9, 0, tzinfo=UTC), "2024-05-06T09:00:00Z"),
        (datetime(2024, 5, 6, 9, 0, tzinfo=timezone(timedelta(hours=2))), "2024-05-06T07:00:00Z"),
        (date(2024, 5, 6), "2024-05-06"),
        (Decimal(12), 12),
        (Decimal("1.5"), 1.5),
        (b"\x01\xff", "01ff"),
        ((1, True, None, "x"), [1, True, None, "x"]),
    ],
)
def test_values_become_json_kinds(value: object, expected: object):
    assert jsonable(value) == expected
