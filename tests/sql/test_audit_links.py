"""The audit of links passes links as they are made, and finds each way in which they can be spoilt."""

import pyarrow as pa
import pytest
from small_tables import connection_of, rows_of

from memlake.schemas import LINKS, PARTS, UNITS
from memlake.transforms.base.sql import sql_file

UNIT = [{"representation": "turns", "unit_id": name} for name in "abc"]
LINK = [
    {"representation": "turns", "source_unit": source, "target_unit": target, "relation": "near", "weight": 0.5}
    for source, target in ("ab", "ba", "ac")
]


def offending(links=LINK, *, units=UNIT, rows=3):
    audited = pa.table({"corpus": ["c"], "conversation_id": ["v"]})
    tables = {
        "units": rows_of(UNITS, units),
        "links": rows_of(LINKS, links),
        "parts": rows_of(PARTS, [{"part": "links:turns:near", "rows": rows}]),
    }
    with connection_of(**tables, audited=audited) as connection:
        return [row[2:] for row in connection.sql(sql_file("audits", "links").text).fetchall()]


def test_links_as_they_are_made_pass():
    assert offending() == []
    # Of a representation that brings links itself there is no part of their own.
    assert offending([*LINK, LINK[0] | {"relation": "own"}]) == []


@pytest.mark.parametrize(
    ("links", "more", "found"),
    [
        ([*LINK[:2], LINK[2] | {"target_unit": "gone"}], {}, [("gone", "a link has no such unit")]),
        ([*LINK[:2], LINK[2] | {"target_unit": "a"}], {}, [("a", "a unit is linked to itself")]),
        ([*LINK[:2], LINK[2] | {"weight": float("nan")}], {}, [("a", "a link has no weight")]),
        ([*LINK, LINK[0]], {"rows": 4}, [("a", "a link stands 2 times")]),
        (LINK, {"rows": 2}, [("links:turns:near", "3 links where 2 were staged")]),
        ([], {"rows": 1}, [("links:turns:near", "0 links where 1 were staged")]),
        (LINK, {"units": UNIT[:2]}, [("c", "a link has no such unit")]),
        (
            LINK,
            {"units": [row | {"conversation_id": "w"} for row in UNIT[2:]] + UNIT[:2]},
            [("c", "a link has no such unit")],
        ),
    ],
)
def test_links_that_are_spoilt_are_found(links, more, found):
    assert offending(links, **more) == found
