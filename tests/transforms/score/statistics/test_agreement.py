"""Agreement of judges on answers that are few enough to count."""

import pytest
from small_tables import rows_of

from memlake.schemas import JUDGEMENTS
from memlake.transforms.score.statistics.agreement import agreement_rows


def verdicts(judge, correct, *, cell="a", repeat=0, judge_repeat=0, conversations=("v", "w")):
    """One verdict a question, questions dealt out to conversations in turn; None is a failed one."""
    return [
        {
            "run_id": "r", "cell": cell, "conversation_id": conversations[place % len(conversations)],
            "question_id": f"q{place}", "cutoff_kind": "k", "cutoff": 5, "repeat": repeat, "judge": judge,
            "label_set": "official", "judge_repeat": judge_repeat,
            "correct": None if value is None else bool(value),
        }
        for place, value in enumerate(correct)
    ]  # fmt: skip


def rows(*given, **more):
    table = rows_of(JUDGEMENTS, [row for some in given for row in some])
    made = agreement_rows(table, run_id="r", seed=7, **more)
    return {(row["statistic"], row["cell_a"], row["judge"]): row for row in made}


def test_kappa_is_agreement_beyond_chance():
    found = rows(verdicts("one", [1, 1, 1, 1, 0, 0, 0, 0, 1, None]), verdicts("two", [1, 1, 1, 0, 0, 0, 0, 1, None, 1]))
    row = found["kappa", "a", "one|two"]
    assert row["value"] == pytest.approx((6 / 8 - 0.5) / 0.5)
    assert (row["n"], row["only_a"], row["only_b"], row["excluded_a"], row["excluded_b"]) == (8, 1, 1, 1, 1)
    assert "few_clusters" in row["note"]
    assert row["low"] < row["value"] < row["high"]


def test_all_cells_together_stand_under_no_cell():
    found = rows(*(verdicts(judge, [1, 0, 1, 0], cell=cell) for judge in ("one", "two") for cell in ("a", "b")))
    assert {cell: found["kappa", cell, "one|two"]["n"] for cell in ("a", "b", "")} == {"a": 4, "b": 4, "": 8}


def test_judges_who_agree_on_everything_have_no_interval():
    row = rows(verdicts("one", [1, 0, 1, 0]), verdicts("two", [1, 0, 1, 0]))["kappa", "a", "one|two"]
    assert (row["value"], row["low"], row["high"]) == (1.0, None, None)
    assert "no_variance" in row["note"]


def test_kappa_is_undefined_when_one_verdict_is_all_there_is():
    row = rows(verdicts("one", [1, 1, 1]), verdicts("two", [1, 1, 1]))["kappa", "a", "one|two"]
    assert (row["value"], row["n"]) == (None, 3)
    assert "no_variance" in row["note"]


def test_judges_without_a_common_answer_have_no_kappa():
    row = rows(verdicts("one", [1, None]), verdicts("two", [None, 0]))["kappa", "a", "one|two"]
    assert (row["value"], row["n"], row["excluded_a"], row["excluded_b"]) == (None, 0, 1, 1)
    assert "no_scores" in row["note"]


def test_a_flip_is_a_pair_of_repeats_that_differ():
    found = rows(
        verdicts("one", [1, 1, 0, 1]),
        verdicts("one", [1, 0, 0, None], judge_repeat=1),
        verdicts("one", [1, 0, 0, None], judge_repeat=2),
    )
    row = found["flip_rate", "a", "one"]
    # Of three verdicts 1, 0, 0 two of three pairs differ.
    assert row["value"] == pytest.approx((0 + 2 / 3 + 0) / 3)
    assert (row["n"], row["excluded_a"], row["clusters"]) == (3, 1, 2)


def test_a_judge_that_never_repeats_has_no_flip_rate():
    assert rows(verdicts("one", [1, 0])) == {}


def test_a_judge_counts_as_right_where_most_of_its_repeats_are():
    found = rows(
        verdicts("one", [1, 1, 0, 0]),
        verdicts("one", [1, 0, 0, 0], judge_repeat=1),
        verdicts("one", [1, 1, 0, 1], judge_repeat=2),
        verdicts("two", [1, 1, 0, 0]),
    )
    row = found["kappa", "a", "one|two"]
    assert row["value"] == 1.0
    assert "majority" in row["note"]


def test_a_judge_of_something_else_is_compared_with_nobody_and_may_still_change_its_mind():
    given = [
        verdicts("one", [1, 0, 1, 0]),
        verdicts("abstains", [1, 1, 1, 0]),
        verdicts("abstains", [1, 0, 1, 0], judge_repeat=1),
        verdicts("two", [1, 0, 0, 0]),
    ]
    found = rows(*given, unlike=frozenset({"abstains"}))
    assert {judge for statistic, _, judge in found if statistic == "kappa"} == {"one|two"}
    assert found["flip_rate", "a", "abstains"]["value"] == 0.25
    assert ("kappa", "a", "abstains|one") in rows(*given)
