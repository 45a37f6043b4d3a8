import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memlake.flows.cli.printing.drawn import draw

TEXT = "Shoes stay outside everywhere except in the hall, which is swept on Sundays."
ID = "1b1e05c7b3f04a4ea2f6d1c6a3a0d9f1"


def drawn(columns, rows, width, right=None, title=""):
    """The lines that a console of this width shows, without the spaces at their ends."""
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    draw(columns, rows, right=right or [False] * len(columns), title=title, console=console)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_ids_and_numbers_stay_whole_and_texts_are_folded(width):
    lines = drawn(["unit_id", "text", "n"], [[ID, TEXT * 2, "1234567"]], width, [False, False, True])
    assert lines[0].split() == ["unit_id", "text", "n"]
    [first] = [line for line in lines if ID in line]
    assert "1234567" in first
    assert len(lines) > 3
    assert max(map(len, lines)) <= width


def test_a_table_that_cannot_fit_stands_upright_with_a_blank_line_between_records():
    columns = ["run_id", "unit_id", "seconds"]
    assert drawn(columns, [[ID, ID, "0.5"], [ID, ID, "12"]], 60, title="Runs") == [
        "Runs",
        f"run_id   {ID}",
        f"unit_id  {ID}",
        "seconds  0.5",
        "",
        f"run_id   {ID}",
        f"unit_id  {ID}",
        "seconds  12",
    ]


def test_a_table_without_a_header_is_never_upright():
    lines = drawn(["", ""], [["uri", "/a/very/long/path" * 9], ["state", "readable"]], 60)
    assert lines[0].startswith("uri ")
    assert lines[-1] == "state  readable"


def test_data_is_never_markup():
    assert drawn(["a"], [["[bold]x[/bold] :smile:"]], 80)[-1] == "[bold]x[/bold] :smile:"


@given(
    ids=st.lists(st.text("abcdef0123456789", min_size=1, max_size=40), min_size=1, max_size=4),
    others=st.integers(0, 9),
    width=st.integers(60, 160),
)
def test_no_id_is_ever_broken_at_any_width(ids, others, width):
    columns = ["unit_id", *(f"text_{place}" for place in range(others))]
    lines = drawn(columns, [[unit_id, *[TEXT] * others] for unit_id in ids], width)
    assert all(any(unit_id in line.split() for line in lines) for unit_id in ids)
    assert max(map(len, lines)) <= width
