from memlake.flows.cli.printing.output import printable
from memlake.flows.cli.printing.table import aligned, cell


def test_control_signs_are_shown_not_sent_to_the_terminal():
    assert printable("a\x1b[31mred\x07") == "a\\x1b[31mred\\x07"
    assert printable("one\ntwo") == "one\u21b5two"
    assert printable("user\u202etxt") == "user\\x202etxt"


def test_cells_show_missing_values_and_numbers_alike_everywhere():
    assert [cell(value) for value in (None, float("nan"), 0.12345, True, 7)] == ["null", "null", "0.123", "true", "7"]
    assert cell({"a": [1, None]}) == '{"a": [1, null]}'


def test_numbers_stand_on_the_right():
    assert aligned(["name", "n"], [["a", "5"], ["bc", "100"]], right=[False, True]) == [
        "name    n",
        "a       5",
        "bc    100",
    ]


def test_a_table_without_column_names_has_no_header_line():
    assert aligned(["", ""], [["a", "b"]], right=[False, False]) == ["a  b"]
