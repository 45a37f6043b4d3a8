"""Which cells a chart names: all of a few, of many those that tell something."""

import pytest

from memlake.transforms.report.page.html import MOST, looks, named_only


def document(cells, *, pair=(), bounds=(), values=None):
    """Means of cells on one corpus, the first the highest unless values say otherwise."""
    means = [
        {
            "corpus": "c",
            "cell": cell,
            "control": "random" if cell in bounds else "",
            "value": (values or {}).get(cell, 1 - place / 100),
        }
        for place, cell in enumerate(cells)
    ]
    compared = [{"corpus": "c", "a": pair[0], "b": pair[1]}] if pair else []
    return {"headline": {"means": means, "compared": compared}}


def test_of_a_few_cells_each_has_its_own_place():
    cells = [f"cell{place}" for place in range(MOST)]
    found = document(cells)
    assert looks(found, "c") == {cell: place for place, cell in enumerate(cells)}
    assert named_only(found, "c") == ""


def test_of_many_the_compared_pair_leads_and_the_highest_the_lowest_and_the_bounds_are_named():
    cells = [f"cell{place}" for place in range(31)]
    found = document(cells, pair=("cell9", "cell17"), bounds=("cell30",))
    named = {cell: place for cell, place in looks(found, "c").items() if place is not None}
    assert named == {"cell9": 0, "cell17": 1, "cell0": 2, "cell1": 3, "cell2": 4, "cell29": 5, "cell30": 6}
    assert "Of 31 cells" in named_only(found, "c")


@pytest.mark.parametrize("value", [None])
def test_a_cell_without_a_number_is_neither_the_highest_nor_the_lowest(value):
    cells = [f"cell{place}" for place in range(20)]
    found = document(cells, values={"cell0": value, "cell19": value})
    named = [cell for cell, place in looks(found, "c").items() if place is not None]
    assert named == ["cell1", "cell2", "cell3", "cell18"]


def test_a_cell_looks_the_same_on_every_corpus():
    found = document(["a", "b", "c"])
    other = document(["c", "a"])["headline"]["means"]
    found["headline"]["means"] += [row | {"corpus": "d"} for row in other]
    assert looks(found, "d") == {"c": looks(found, "c")["c"], "a": looks(found, "c")["a"]}
