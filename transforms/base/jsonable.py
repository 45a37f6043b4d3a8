"""Values as JSON's own kinds, one rule for every document that memlake prints or writes."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal


def jsonable(value: object) -> object:
    """The value in JSON's own kinds: a number that is none is null, a time is ISO 8601 in UTC, bytes are hexadecimal."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def json_text(value: object) -> str:
    """One JSON document: NaN is null, times are ISO 8601, text is UTF-8."""
    return json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
