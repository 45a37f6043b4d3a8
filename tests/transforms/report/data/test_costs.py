"""Costs beside scores: dollars where every point has them, evidence tokens where none does."""

import pytest
from reported_runs import RUN, reported
from small_tables import rows_of

from memlake.schemas import STATISTICS
from memlake.transforms.report.data.cells import Numbers, card_of
from memlake.transforms.report.data.figures import costs
from memlake.transforms.report.page.losses import costs as section

AT = {"run_id": RUN, "corpus": "c", "cutoff_kind": "tokens", "cutoff": 100, "slice": "all", "n": 4, "clusters": 2}


def document(*rows, **options):
    run = reported(**options)
    held = run.tables["statistics"].to_pylist()
    run.tables["statistics"] = rows_of(STATISTICS, [*held, *(AT | row for row in rows)])
    return run.document()


def cost(cell, statistic, value, **more):
    return {"statistic": statistic, "cell_a": cell, "value": value, "method": "m"} | more


JUDGED = {"metric": "judge_accuracy", "label_set": "official", "judge": "match"}


def of_correct(cell, value, **more):
    return cost(cell, "usd_per_1000_correct", value, **JUDGED) | more


WRONG = of_correct("chunks", 99.0)


@pytest.fixture(scope="module")
def run():
    return reported()


def test_without_dollars_a_point_stands_at_its_evidence_tokens():
    points = document()["costs"]["points"]
    assert {(point["cell"], point["x"], point["cost"]) for point in points} == {
        (cell, "evidence_tokens", 10.0) for cell in ("chunks", "summary", "random")
    }


def test_points_with_dollars_stand_at_them_and_one_without_is_left_out_not_put_at_nothing():
    found = document(
        cost("chunks", "usd_read_per_question", 0.02),
        cost("summary", "usd_read_per_question", 0.01),
        cost("random", "usd_read_per_question", None, note="price_unknown"),
    )
    assert {(point["cell"], point["cost"], point["value"]) for point in found["costs"]["points"]} == {
        ("chunks", 0.02, 1.0),
        ("summary", 0.01, 0.0),
    }


def test_a_row_a_cell_has_its_costs_with_their_intervals_and_none_where_nobody_knows():
    found = document(
        of_correct("chunks", 12.5, low=11.0, high=14.0),
        cost("chunks", "usd_write", None, cutoff_kind="none", cutoff=0, note="price_unknown"),
        cost("summary", "usd_write", 0.5, cutoff_kind="none", cutoff=0),
        cost("chunks", "seconds_local", 1.25, cutoff_kind="none", cutoff=0),
    )
    page = section(found)
    row = page[page.index('<th scope="row" class="name">chunks</th>') :].split("</tr>")[0]
    assert "12.5 [11, 14]" in row
    assert "1.25" in row
    assert row.count(">none<") == 1


@pytest.mark.parametrize(
    "other",
    [
        {"label_set": "corrected"}, {"label_set": ""}, {"judge": "exact"}, {"judge": ""}, {"cutoff": 200},
        {"cutoff_kind": "k"}, {"metric": "judge_accuracy_published"}, {"corpus": "d"}, {"cell_b": "summary"},
        {"comparison": "x"}, {"slice": "category=1"}, {"cell_a": "summary"},
    ],
)  # fmt: skip
def test_a_cost_stands_beside_a_mean_only_under_its_whole_key(run, other):
    wrong, right = (rows_of(STATISTICS, [AT | row]).to_pylist() for row in (WRONG | other, of_correct("chunks", 12.5)))
    cards = [card_of(run.study, row) for row in run.tables["cells"].to_pylist()[:1]]
    for rows, value in ((wrong, None), (wrong + right, 12.5), (right + wrong, 12.5)):
        (cell,) = costs(cards, Numbers(rows), {}, run.study.headline)["cells"]
        assert cell["costs"]["usd_per_1000_correct"]["value"] == value


def test_a_cell_that_ends_elsewhere_names_its_own_cutoff_and_costs_what_it_costs_there():
    more = '[[cells]]\nname = "own"\nrepresentations = ["chunks"]\nplan = "lexical"\nreader = "extractive"\n'
    more += "cutoffs = { tokens = [200] }\nanswers = { tokens = [200] }\n"
    found = document(
        cost("chunks", "usd_read_per_question", 0.02),
        cost("own", "usd_read_per_question", 0.03),
        cost("own", "usd_read_per_question", 0.04, cutoff=200),
        more=more,
    )
    points = {point["cell"]: (point["cutoff"], point["cost"]) for point in found["costs"]["points"]}
    assert points == {"chunks": (100, 0.02), "own": (200, 0.04)}
    page = section(found)
    assert '<th scope="row" class="name">own, 200 tokens</th>' in page
    assert "own, 200 tokens" in page[page.index("<svg") : page.index("</svg>")]


@pytest.mark.parametrize("statistic", ["usd_write", "tokens_read_per_question", "seconds_local"])
def test_every_cost_on_record_is_in_the_document(statistic):
    rows = document(cost("chunks", statistic, 7.0))["costs"]["rows"]
    assert [(row["cell"], row["corpus"], row["statistic"], row["value"]) for row in rows] == [
        ("chunks", "c", statistic, 7.0)
    ]
