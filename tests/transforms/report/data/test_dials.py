"""Where a comparison changes sign along a dial."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.report.data.compared import crossings, dials
from memlake.transforms.report.data.document import At, Compared, Number
from memlake.transforms.study.parse import parse_study

VALUES = st.lists(st.floats(-1, 1, allow_subnormal=False).map(lambda value: round(value, 3)), min_size=2, max_size=8)


@pytest.mark.parametrize(
    ("values", "crossed"),
    [
        ([0.3, -0.1], [0.75]),
        ([-0.1, 0.1, -0.3], [0.5, 1.25]),
        ([0.2, 0.1, 0.3], []),
        ([0.2, 0.0, 0.3], []),
        ([0.2, 0.0, 0.0, -0.2], [1.5]),
        ([0.0, -0.2], []),
    ],
)
def test_a_crossing_is_read_off_the_line_between_its_neighbours(values, crossed):
    assert crossings(list(enumerate(values))) == pytest.approx(crossed)


@given(values=VALUES)
def test_every_change_of_sign_is_crossed_once_between_the_two_that_differ(values):
    points = list(enumerate(values))
    signed = [(x, y) for x, y in points if y]
    changes = [(x, z) for (x, y), (z, w) in pairwise(signed) if y * w < 0]
    found = crossings(points)
    assert len(found) == len(changes)
    assert all(low <= x <= high for x, (low, high) in zip(found, changes, strict=True))


def compared(corpus, value):
    at = At(metric="answer_survival_all", cutoff_kind="tokens", cutoff=100, label_set="official", judge="")
    number = Number(value=value, low=None, high=None, n=4, excluded=0, clusters=2, note=None)
    return Compared(name="pair", corpus=corpus, a="x", b="y", at=at, difference=number)


def test_points_stand_by_the_dial_and_one_without_a_number_is_no_part_of_the_line():
    corpora = "".join(
        f'[[corpora]]\nname = "{name}"\ndial = {dial}\n' for name, dial in (("c2", 1.0), ("c0", 0.0), ("c1", 0.5))
    )
    cells = "".join(f'[[cells]]\nname = "{cell}"\nrepresentations = ["turns"]\nplan = "lexical"\n' for cell in "xy")
    study = parse_study(
        f'name = "dial"\n{corpora}{cells}[cutoffs]\ntokens = [100]\n[[comparisons]]\nname = "pair"\na = "x"\nb = "y"\n',
        source="t",
    )
    (found,) = dials(study, [compared("c2", -0.2), compared("c1", None), compared("c0", 0.2)])
    assert [(point["corpus"], point["dial"], point["value"]) for point in found["points"]] == [
        ("c0", 0.0, 0.2),
        ("c1", 0.5, None),
        ("c2", 1.0, -0.2),
    ]
    assert found["crossings"] == pytest.approx([0.5])
