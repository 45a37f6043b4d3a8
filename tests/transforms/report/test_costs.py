"""Costs beside scores: dollars where every point has them, evidence tokens where none does."""

import pytest
from reported_runs import RUN, reported
from small_tables import rows_of

from flows.report.figures import costs as section
from schemas import STATISTICS

AT = {"run_id": RUN, "corpus": "c", "cutoff_kind": "tokens", "cutoff": 100, "slice": "all", "n": 4, "clusters": 2}


def document(*rows):
    run = reported()
    held = run.tables["statistics"].to_pylist()
    run.tables["statistics"] = rows_of(STATISTICS, [*held, *(AT | row for row in rows)])
    return run.document()


def cost(cell, statistic, value, **more):
    return {"statistic": statistic, "cell_a": cell, "value": value, "method": "m"} | more


def test_without_dollars_a_point_stands_at_its_evidence_tokens():
    points = document()["costs"]["points"]
    assert {(one["cell"], one["x"], one["cost"]) for one in points} == {
        (cell, "evidence_tokens", 10.0) for cell in ("chunks", "summary", "random")
    }


def test_points_with_dollars_stand_at_them_and_one_without_is_left_out_not_put_at_nothing():
    found = document(
        cost("chunks", "usd_read_per_question", 0.02),
        cost("summary", "usd_read_per_question", 0.01),
        cost("random", "usd_read_per_question", None, note="price_unknown"),
    )
    assert {(one["cell"], one["cost"], one["value"]) for one in found["costs"]["points"]} == {
        ("chunks", 0.02, 1.0),
        ("summary", 0.01, 0.0),
    }


def test_a_row_a_cell_has_its_costs_with_their_intervals_and_none_where_nobody_knows():
    found = document(
        cost("chunks", "usd_per_1000_correct", 12.5, judge="match", low=11.0, high=14.0, label_set="official"),
        cost("chunks", "usd_per_1000_correct", 99.0, judge="exact", label_set="official"),
        cost("c/chunks", "seconds_local", 1.25, corpus="", cutoff_kind="none", cutoff=0),
    )
    page = section(found)
    row = page[page.index('<th scope="row">chunks</th>') :].split("</tr>")[0]
    assert "12.5 [11, 14]" in row
    assert "1.25" in row
    assert "99" not in row
    assert row.count(">none<") == 4


@pytest.mark.parametrize("statistic", ["usd_write", "tokens_read_per_question", "seconds_local"])
def test_every_cost_on_record_is_in_the_document(statistic):
    rows = document(cost("chunks", statistic, 7.0))["costs"]["rows"]
    assert [(one["cell"], one["corpus"], one["statistic"], one["value"]) for one in rows] == [
        ("chunks", "c", statistic, 7.0)
    ]
