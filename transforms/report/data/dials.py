"""Where one memory overtakes another: a comparison's difference along a dial that the study's corpora turn."""

from collections.abc import Sequence
from itertools import pairwise

from memlake.transforms.report.data.document import Compared, Dial, Row
from memlake.transforms.study.study import Study


def dials(study: Study, compared: Sequence[Compared]) -> list[Dial]:
    """Each comparison that was made on two or more corpora with a dial, its points by the dial."""
    turned = {corpus.name: corpus.dial for corpus in study.corpora if corpus.dial is not None}
    made = []
    for comparison in study.comparisons:
        rows = [one for one in compared if one["name"] == comparison.name and one["corpus"] in turned]
        points: list[Row] = [
            {"corpus": one["corpus"], "dial": turned[one["corpus"]], **one["difference"]} for one in rows
        ]
        points.sort(key=lambda point: (point["dial"], point["corpus"]))
        if len(points) > 1:
            known = [(point["dial"], point["value"]) for point in points if point["value"] is not None]
            made.append(
                Dial(
                    comparison=comparison.name,
                    a=comparison.a,
                    b=comparison.b,
                    at=rows[0]["at"],
                    points=points,
                    crossings=crossings(known),
                )
            )
    return made


def crossings(points: Sequence[tuple[float, float]]) -> list[float]:
    """Where a line through points (x, y), ascending by x, changes sign; linear between neighbours.

    A stretch of zeros between two signs crosses in its middle; one that the sign does not change over crosses nowhere.
    """
    found = []
    signed = [(x, y) for x, y in points if y != 0]
    for (x0, y0), (x1, y1) in pairwise(signed):
        if (y0 < 0) == (y1 < 0):
            continue
        zeros = [x for x, y in points if y == 0 and x0 < x < x1]
        found.append((zeros[0] + zeros[-1]) / 2 if zeros else x0 + (x1 - x0) * y0 / (y0 - y1))
    return found
