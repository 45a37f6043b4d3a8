"""date_windows: the text around each date, and the day that it counts from."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from memlake.transforms.base.conversation import Conversation
from memlake.transforms.base.errors import UsageError
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.catalogue import represent, spec_of
from memlake.transforms.represent.common.representation import Units

# Three sessions a month apart, of two turns each.
SAID = ("We moved yesterday.", "The bridge opened in 1932.", "Rain last month.", "Oh.", "So long!", "Bye.")


@pytest.fixture
def turns(conversations_of: Callable[[Any], list[Conversation]]) -> pa.Table:
    talk = [
        (f"2 {month} 2023", [("A", SAID[2 * n]), ("B", SAID[2 * n + 1])])
        for n, month in enumerate(("May", "June", "July"))
    ]
    (conversation,) = conversations_of({"v": talk})
    for number, session in enumerate(conversation.sessions):
        session.at = int(datetime(2023, 5 + number, 2, tzinfo=UTC).timestamp()) * 1_000_000
    return tabulate("c", [conversation], 1)["turns"]


def made(turns: pa.Table, **settings: Any) -> Units:
    return represent(spec_of("date_windows-x", settings), turns)


def shown(turns: pa.Table, **settings: Any) -> list[str]:
    return made(turns, **settings).units["show_text"].to_pylist()


@pytest.mark.parametrize(
    ("settings", "yesterday", "last_month"),
    [
        ({}, "2023-07-01", "2023-06"),
        ({"batch": 2}, "2023-06-01", "2023-05"),
        ({"resolve": "own"}, "2023-05-01", "2023-05"),
        ({"resolve": "call_number"}, "2023-05-01", "2023-04"),
        ({"resolve": "call_number", "batch": 1}, "2023-05-01", "2023-05"),
    ],
)
def test_relative_dates_count_from_the_batchs_last_session_unless_told_otherwise(
    turns: pa.Table, settings: dict[str, Any], yesterday: str, last_month: str
) -> None:
    units = made(turns, around=5, **settings).units.to_pylist()
    told = {
        told["time_expression"]: told["resolved_time"] for told in (json.loads(unit["attributes"]) for unit in units)
    }
    assert told == {"yesterday": yesterday, "1932": "1932", "last month": last_month}
    by_words = {json.loads(unit["attributes"])["time_expression"]: unit for unit in units}
    assert by_words["yesterday"]["event_at"] == datetime.fromisoformat(yesterday).replace(tzinfo=UTC)
    assert by_words["last month"]["event_at"] == datetime.fromisoformat(f"{last_month}-01").replace(tzinfo=UTC)
    assert {unit["kind"] for unit in units} == {"event"}


def test_a_window_is_the_raw_text_of_its_batch_with_all_users_sides_first(turns: pa.Table) -> None:
    assert shown(turns, around=60, resolve="own")[0] == (
        "2023-05-01: [Turn 1 (Session: 2 May 2023)] We moved yesterday.\n"
        "[Turn 2 (Session: 2 June 2023)] Rain last month.\n[Turn 3 ("
    )
    assert shown(turns, around=60, resolve="own", order="spoken")[0] == (
        "2023-05-01: [Turn 1 (Session: 2 May 2023)] User: We moved yesterday.\n"
        "Assistant: The bridge opened in 1932.\n\n[Turn 2 (Session: 2"
    )
    assert "[Turn 1] The bridge opened in 1932.\n[Turn 2] Oh." in shown(turns, around=500)[0]
    assert len(shown(turns, around=0)) == 3


def test_a_date_of_a_prefix_is_none_and_a_window_stays_in_its_batch(turns: pa.Table) -> None:
    assert shown(turns, around=1000, batch=1, resolve="own", header="every") == [
        (
            "[2 May 2023] 2023-05-01: [Turn 1 (Session: 2 May 2023)] We moved yesterday.\n\n"
            "[Turn 1] The bridge opened in 1932."
        ),
        (
            "[2 May 2023] 1932: [Turn 1 (Session: 2 May 2023)] We moved yesterday.\n\n"
            "[Turn 1] The bridge opened in 1932."
        ),
        "[2 June 2023] 2023-05: [Turn 2 (Session: 2 June 2023)] Rain last month.\n\n[Turn 2] Oh.",
    ]


def test_provenance_is_what_the_window_holds_of_the_source_to_the_character(
    turns: pa.Table, canonical: Callable[[pa.Table], dict[str, str]]
) -> None:
    units = made(turns, around=45)
    text = canonical(turns)["v"]
    by_unit: dict[str, list[str]] = {}
    for row in units.provenance.to_pylist():
        assert (row["grounding"], row["touches_text"]) == ("exact", True)
        by_unit.setdefault(row["unit_id"], []).append(text[row["char_start"] : row["char_end"]])
    for unit in units.units.to_pylist():
        assert by_unit[unit["unit_id"]]
        assert all(said in unit["show_text"] for said in by_unit[unit["unit_id"]])
    assert by_unit[units.units["unit_id"][0].as_py()] == ["We moved yesterday.", "Rain last m"]
    assert units.units["session_id"].to_pylist() == [None, None, None]
    assert made(turns, around=3).units["session_id"].to_pylist() == ["s0", "s1", "s0"]


def test_a_date_that_is_not_known_is_shown_as_it_was_said(turns_of: Callable[..., pa.Table]) -> None:
    units = made(turns_of({"v": [(None, [("A", "It broke yesterday.")])]}))
    (unit,) = units.units.to_pylist()
    assert unit["show_text"] == "[Turn 1] It broke yesterday.\n\n[Turn 1] [No response]"
    assert (json.loads(unit["attributes"])["resolved_time"], unit["event_at"]) == (None, None)


@pytest.mark.parametrize("wrong", ["around=-1", "resolve=x", "order=x", "header=first", "batch=-1"])
def test_settings_that_make_no_windows_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        spec_of(f"date_windows-x:{wrong}")
