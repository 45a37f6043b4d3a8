"""Items of a reply, each held to the schema on its own."""

import pytest

from memlake.schemas.table import settings_json
from memlake.transforms.llm.structured import problem_of
from memlake.transforms.represent.by_model.artifacts import QUOTED
from memlake.transforms.represent.by_model.extraction import checked_items

GOOD = {
    "type": "event", "content": "c", "quote": "q", "speaker": None, "confidence": 1,
    "time_expression": None, "resolved_time": None, "turns": [1],
}  # fmt: skip
ITEM = settings_json(QUOTED.schema["properties"]["artifacts"]["items"])


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"content": 5}, "content: 5 is not of type 'string'"),
        ({"turns": [1, "2"]}, "turns[1]: '2' is not of type 'integer'"),
        ({"confidence": 2}, "confidence: 2 is greater than the maximum of 1"),
    ],
)
def test_what_is_wrong_with_an_item_is_what_is_wrong_with_a_reply_and_the_others_are_kept(wrong, problem):
    found = checked_items({"artifacts": [GOOD, GOOD | wrong, 7]}, QUOTED.schema, "artifacts")
    assert (found.items, found.dropped, found.problem) == ((GOOD,), 2, f"item 1: {problem}")
    assert problem_of(GOOD | wrong, ITEM) == f"$.{problem}"


def test_a_field_that_may_be_null_may_be_left_out_and_another_may_not():
    without = {name: value for name, value in GOOD.items() if name not in ("speaker", "resolved_time")}
    assert checked_items([without | {"more": 1}], QUOTED.schema, "artifacts").items == (GOOD,)
    less = {name: value for name, value in GOOD.items() if name != "quote"}
    assert checked_items([less], QUOTED.schema, "artifacts").problem == "item 0: 'quote' is a required property"


def test_a_reply_without_a_list_has_no_items():
    assert checked_items({"others": []}, QUOTED.schema, "artifacts") is None
    assert checked_items("text", QUOTED.schema, "artifacts") is None
