"""Cells as a report shows them: bounds by their plans, and at which cutoff a context is shown."""

import pytest
from reported_runs import study_text

from memlake.transforms.evaluate.corpus import cell_rows
from memlake.transforms.report.data.cells import card_of, control_of, cutoff_shown
from memlake.transforms.retrieve.plan import PLANS
from memlake.transforms.study.parse import parse_study


@pytest.mark.parametrize(
    ("plan", "control"),
    [("hybrid", ""), ("lexical", ""), ("random", "random"), ("gold", "gold"), ("full", "full"), ("nothing", "nothing")],
)
def test_a_bound_is_known_by_its_plan(plan, control):
    assert control_of(PLANS[plan]) == control


def test_a_plan_that_joins_units_is_shown_by_its_text_and_a_plain_one_by_its_units():
    study = parse_study(
        study_text(cells=(("plain", "chunks", "lexical"), ("joined", "chunks", "joined"))), source="test"
    )
    rows = cell_rows(study, study.corpora[0], run_id="r", read_snapshot_id="s").to_pylist()
    assert {row["cell"]: card_of(study, row).whole for row in rows} == {"plain": True, "joined": False}


def test_a_cell_without_the_headlines_cutoff_is_shown_where_its_reader_is_asked():
    more = '[[cells]]\nname = "own"\nrepresentations = ["chunks"]\nplan = "lexical"\nreader = "extractive"\n'
    more += "cutoffs = { k = [3] }\nanswers = { k = [7] }\n"
    study = parse_study(study_text(more=more), source="test")
    assert cutoff_shown(study, study.cell("chunks")) == ("tokens", 100)
    assert cutoff_shown(study, study.cell("own")) == ("k", 7)
