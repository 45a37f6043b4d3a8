"""The whole table of statistics of runs that are small enough to know every number."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import rows_of

from memlake.schemas import JUDGEMENTS, SCORES, STATISTICS
from memlake.transforms.answer.spec import JudgeSpec
from memlake.transforms.retrieve.plan import find_plan
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.score.statistics import statistics
from memlake.transforms.score.statistics.statistics import statistics_of
from memlake.transforms.study.study import Comparison, Measure, Repeats, Study, StudyCell, StudyCorpus

SHOWN = Measure("answer_survival_all", "tokens", 1000)


def scored(cell, values, *, conversations=4, repeat=0, corpus="c", measure=SHOWN, categories=("1",), run_id="r"):
    """One row a question: `values` by place, None where it was not scored, '-' where it was not asked."""
    return [
        {
            "run_id": run_id, "cell": cell, "corpus": corpus, "conversation_id": f"v{place % conversations}",
            "question_id": f"q{place:03}", "cutoff_kind": measure.cutoff_kind, "cutoff": measure.cutoff,
            "repeat": repeat, "metric": measure.metric, "label_set": measure.label_set, "judge": measure.judge,
            "category": categories[place % len(categories)], "value": None if value is None else float(value),
            "reason": "unanswerable" if value is None else None,
        }
        for place, value in enumerate(values)
        if value != "-"
    ]  # fmt: skip


def comparison(name, a, b, measure, **more):
    return Comparison(name=name, a=a, b=b, **measure.said(), **more)


def study(*comparisons, cells=("a", "b", "c", "d"), corpora=("c",), **others):
    return Study(
        "s",
        tuple(StudyCorpus(name) for name in corpora),
        tuple(StudyCell(name, ("chunks",), find_plan("hybrid")) for name in cells),
        Cutoffs(tokens=(1000,)),
        SHOWN,
        comparisons=comparisons,
        **others,
    )


def told(rows, made=None, judgements=()):
    return statistics_of(rows_of(SCORES, rows), rows_of(JUDGEMENTS, list(judgements)), made or study(), run_id="r")


def pick(table, **fields):
    (row,) = [row for row in table.to_pylist() if fields.items() <= row.items()]
    return row


def test_a_mean_is_over_questions_and_a_macro_mean_over_conversations():
    # Conversations of 1 and 3 questions.
    rows = scored("a", [1, 0, "-", 0, "-", 0], conversations=2)
    table = told(rows)
    mean, macro = (pick(table, statistic=name, slice="all") for name in ("mean", "macro_mean"))
    assert (mean["value"], macro["value"]) == (0.25, 0.5)
    assert (mean["n"], mean["clusters"], mean["excluded_a"]) == (4, 2, 0)
    assert mean["low"] <= 0.25 <= mean["high"]
    assert mean["method"] == "cluster bootstrap over conversations, percentile 95 %, 10000 resamples, seed 7"


def test_every_category_is_a_slice_and_what_was_not_scored_is_counted():
    table = told(scored("a", [1, 0, None, 1, 1, None, 0, 1], categories=("1", "2")))
    means = {row["slice"]: row for row in table.to_pylist() if row["statistic"] == "mean"}
    assert {name: (row["value"], row["n"], row["excluded_a"]) for name, row in means.items()} == {
        "all": (pytest.approx(4 / 6), 6, 2),
        "category=1": (pytest.approx(2 / 3), 3, 1),
        "category=2": (pytest.approx(2 / 3), 3, 1),
    }


def test_repeats_of_a_question_are_one_question():
    table = told([*scored("a", [1, 1, 0, 0]), *scored("a", [0, 1, None, 0], repeat=1)])
    row = pick(table, statistic="mean", slice="all")
    assert (row["value"], row["n"], row["excluded_a"]) == (pytest.approx((0.5 + 1 + 0 + 0) / 4), 4, 0)
    spread = pick(table, statistic="sd_reader")
    assert (spread["value"], spread["n"]) == (pytest.approx(np.std([2 / 3, 1 / 3], ddof=1)), 3)
    assert pick(table, statistic="var_reader")["n"] == 3


def test_other_runs_are_passed_over_and_corpora_are_kept_apart():
    rows = [
        *scored("a", [1, 1, 0, 0]),
        *scored("a", [1, 1, 1, 0], corpus="d"),
        *scored("a", [0, 0, 0, 0], run_id="older"),
    ]
    table = told(rows, study(corpora=("c", "d")))
    assert {row["corpus"]: row["value"] for row in table.to_pylist() if row["statistic"] == "mean"} == {
        "c": 0.5,
        "d": 0.75,
    }


def test_a_difference_is_paired_by_question_and_says_what_it_left_out():
    a = scored("a", [1, 1, 1, 0, None, 1, "-", None, "-"])
    b = scored("b", [0, 1, 0, 1, 1, None, 1, None, "-"])
    table = told([*a, *b], study(comparison("one", "a", "b", SHOWN)))
    row = pick(table, statistic="difference", slice="all")
    assert (row["value"], row["n"], row["excluded_a"], row["excluded_b"]) == (0.25, 4, 3, 2)
    assert (row["only_a"], row["only_b"], row["clusters"]) == (2, 1, 4)
    assert (row["comparison"], row["cell_a"], row["cell_b"]) == ("one", "a", "b")
    # Sums by conversation are 1, 0, 1, -1: of 8 sign patterns all have a total of at least 1 away from 0.
    assert row["p"] == row["p_holm"] == 1.0
    assert row["note"].startswith("few_clusters: 4 conversations")
    assert "p cannot be below 0.25" in row["note"]
    paired = pick(table, statistic="mcnemar", slice="all")
    assert (paired["value"], paired["p"], paired["n"]) == (pytest.approx(2 / 3), 1.0, 4)


def test_the_family_is_every_comparison_on_every_corpus():
    generator = np.random.default_rng(6)
    rows = []
    for corpus in ("c", "d"):
        for cell, rate in (("a", 0.8), ("b", 0.3), ("c", 0.7)):
            rows += scored(cell, generator.random(120) < rate, conversations=12, corpus=corpus)
    made = study(comparison("x", "a", "b", SHOWN), comparison("y", "a", "c", SHOWN), corpora=("c", "d"))
    table = told(rows, made)
    family = [row for row in table.to_pylist() if row["statistic"] == "difference" and row["slice"] == "all"]
    assert [(row["corpus"], row["comparison"]) for row in family] == [("c", "x"), ("c", "y"), ("d", "x"), ("d", "y")]
    smallest = min(family, key=lambda row: row["p"])
    assert smallest["p_holm"] == pytest.approx(4 * smallest["p"])
    assert all(
        row["p_holm"] is None
        for row in table.to_pylist()
        if row["statistic"] == "shift" or (row["statistic"] == "difference" and row["slice"] != "all")
    )
    mcnemar = [row for row in table.to_pylist() if row["statistic"] == "mcnemar" and row["slice"] == "all"]
    assert min(row["p_holm"] for row in mcnemar) == pytest.approx(4 * min(row["p"] for row in mcnemar))


def test_a_comparison_of_one_corpus_is_on_that_alone():
    rows = [*scored("a", [1, 0, 1, 1]), *scored("b", [0, 0, 1, 1])]
    rows += [row | {"corpus": "d"} for row in rows]
    made = study(comparison("x", "a", "b", SHOWN, corpus="d"), corpora=("c", "d"))
    found = [row["corpus"] for row in told(rows, made).to_pylist() if row["statistic"] == "difference"]
    assert set(found) == {"d"}


def test_a_shift_is_the_difference_of_two_differences_on_common_questions():
    rows = [
        *scored("a", [1, 1, 1, 1, 1]),
        *scored("b", [0, 0, 1, 1, 1]),
        *scored("c", [1, 1, 0, 0, None]),
        *scored("d", [1, 0, 0, 0, 1]),
    ]
    made = study(comparison("base", "a", "b", SHOWN), comparison("other", "c", "d", SHOWN, against="base"))
    row = pick(told(rows, made), statistic="shift", slice="all")
    assert (row["cell_a"], row["cell_b"], row["comparison"]) == ("other", "base", "other")
    assert (row["value"], row["n"], row["excluded_a"]) == (-0.25, 4, 1)
    assert (row["p_holm"], row["p"]) == (None, 1.0)


def test_a_shift_against_another_corpus_says_that_nothing_is_paired():
    rows = [*scored("a", [1, 0, 1, 1]), *scored("b", [0, 0, 1, 1])]
    rows += [row | {"corpus": "d"} for row in rows]
    comparisons = (
        comparison("x", "a", "b", SHOWN, corpus="c"),
        comparison("y", "a", "b", SHOWN, corpus="d", against="x"),
    )
    row = pick(told(rows, study(*comparisons, corpora=("c", "d"))), statistic="shift")
    assert (row["value"], row["corpus"]) == (None, "d")
    assert row["note"].startswith("other_corpus")


def test_a_shift_between_two_measures_says_so():
    half = Measure("answer_survival_all", "tokens", 500)
    values = {"a": [1, 1, 1, 1], "b": [1, 0, 1, 1], "c": [0, 0, 1, 0], "d": [0, 1, 0, 0]}
    rows = [row for cell in "ab" for row in scored(cell, values[cell])]
    rows += [row for cell in "cd" for row in scored(cell, values[cell], measure=half)]
    made = study(comparison("base", "a", "b", SHOWN), comparison("other", "c", "d", half, against="base"))
    row = pick(told(rows, made), statistic="shift", slice="all")
    assert (row["value"], row["cutoff"]) == (-0.25, 500)
    assert "other_measure" in row["note"]


def test_series_a_few_at_a_time_give_the_same_rows(monkeypatch):
    generator = np.random.default_rng(3)
    rows = [row for cell in "abcd" for row in scored(cell, generator.random(24), categories=("1", "2"))]
    whole = told(rows)
    monkeypatch.setattr(statistics, "_SUMS_AT_A_TIME", 13)
    assert told(rows).equals(whole)


def test_a_metric_that_is_no_yes_or_no_has_no_mcnemar():
    measure = Measure("token_f1", "tokens", 1000)
    rows = [*scored("a", [0.5, 0.2, 1, 0], measure=measure), *scored("b", [0.1, 0.2, 1, 0.5], measure=measure)]
    table = told(rows, study(comparison("x", "a", "b", measure)))
    row = pick(table, statistic="difference", slice="all")
    assert (row["only_a"], row["only_b"]) == (None, None)
    assert "mcnemar" not in table["statistic"].to_pylist()


def test_mcnemar_of_repeats_goes_by_their_majority():
    rows = [*scored("b", [0, 0, 1, 1])]
    for repeat, values in enumerate(([1, 1, 0, 1], [1, 0, 0, 1], [0, 1, 0, 1])):
        rows += scored("a", values, repeat=repeat)
    row = pick(told(rows, study(comparison("x", "a", "b", SHOWN))), statistic="mcnemar", slice="all")
    assert (row["only_a"], row["only_b"]) == (2, 1)
    assert "majority" in row["note"]


def test_a_cell_without_the_measure_is_a_row_without_a_number():
    table = told(scored("a", [1, 0, 1]), study(comparison("x", "a", "b", SHOWN)))
    row = pick(table, statistic="difference", slice="all")
    assert (row["value"], row["p"], row["p_holm"], row["n"]) == (None, None, None, 0)
    assert row["note"].startswith("no_scores")


def test_equal_cells_differ_by_nothing_and_one_conversation_has_no_test():
    rows = [*scored("a", [1, 0, 1, 1]), *scored("b", [1, 0, 1, 1])]
    row = pick(told(rows, study(comparison("x", "a", "b", SHOWN))), statistic="difference", slice="all")
    assert (row["value"], row["low"], row["high"], row["p"], row["detectable"]) == (0.0, None, None, 1.0, None)
    assert "no_variance" in row["note"]
    rows = [row | {"conversation_id": "v"} for row in [*scored("a", [1, 1, 1, 0]), *scored("b", [1, 0, 0, 0])]]
    row = pick(told(rows, study(comparison("x", "a", "b", SHOWN))), statistic="difference", slice="all")
    assert (row["value"], row["low"], row["p"], row["clusters"]) == (0.5, None, None, 1)
    assert row["note"].startswith("one_cluster")


def test_extractions_that_were_repeated_have_a_spread():
    rows = [*scored("a", [1, 1, 0, 0]), *scored("b", [1, 0, 0, 0]), *scored("c", [1, 1, 1, 0])]
    table = told(rows, study(repeats=(Repeats("extraction", ("a", "b", "c")),)))
    row = pick(table, statistic="sd_extraction")
    assert (row["cell_a"], row["value"]) == ("a|b|c", pytest.approx(0.25))
    assert {row["statistic"] for row in table.to_pylist() if row["cell_a"] == "a|b|c"} == {
        "sd_extraction", "var_question", "var_extraction",
    }  # fmt: skip


def test_verdicts_are_decomposed_one_by_one():
    measure = Measure("judge_accuracy", "tokens", 1000, judge="j")
    generator = np.random.default_rng(8)
    judgements = [
        {
            **{key: row[key] for key in ("run_id", "cell", "corpus", "conversation_id", "question_id")},
            "cutoff_kind": "tokens", "cutoff": 1000, "repeat": repeat, "judge": "j", "label_set": "official",
            "judge_repeat": again, "correct": bool(generator.random() < 0.6),
        }
        for repeat in range(2)
        for again in range(3)
        for row in scored("a", [0] * 8, measure=measure)
    ]  # fmt: skip
    rows = [row for repeat in range(2) for row in scored("a", [1, 0] * 4, measure=measure, repeat=repeat)]
    table = told(rows, judgements=judgements)
    found = {row["statistic"]: row for row in table.to_pylist() if row["judge"] == "j"}
    assert {"sd_reader", "sd_judge", "var_question", "var_reader", "var_judge", "flip_rate"} <= found.keys()
    accuracy = [np.mean([row["correct"] for row in judgements if row["judge_repeat"] == again]) for again in range(3)]
    assert found["sd_judge"]["value"] == pytest.approx(np.std(accuracy, ddof=1))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_no_input_makes_a_nan_or_an_exception_and_order_makes_no_difference(data):
    value = st.sampled_from([None, "-", 0, 1, 0.5, 1 / 3])
    rows = []
    for cell in ("a", "b", "c"):
        for repeat in range(data.draw(st.integers(0, 2))):
            values = data.draw(st.lists(value, max_size=7))
            rows += scored(cell, values, repeat=repeat, conversations=3, categories=("1", "", "x"))
    made = study(
        comparison("x", "a", "b", SHOWN),
        comparison("y", "a", "c", SHOWN, against="x"),
        repeats=(Repeats("extraction", ("a", "b")),),
    )
    table = told(rows, made)
    assert told(data.draw(st.permutations(rows)), made).equals(table)
    assert table.schema.equals(STATISTICS.schema)
    for column in table.columns:
        if pa.types.is_floating(column.type):
            assert np.isfinite(column.drop_null().to_numpy()).all()
    keys = [tuple(row[name] for name in STATISTICS.key) for row in table.to_pylist()]
    assert len(set(keys)) == len(keys)
    assert all(row["note"] for row in table.to_pylist() if row["value"] is None)


def test_shuffled_rows_give_the_same_bits():
    generator = np.random.default_rng(2)
    rows = [row for cell in "abcd" for row in scored(cell, generator.random(90), conversations=30)]
    table = told(rows, study(comparison("x", "a", "b", SHOWN)))
    generator.shuffle(rows)
    assert told(rows, study(comparison("x", "a", "b", SHOWN))).equals(table)


def test_nothing_scored_is_nothing_told():
    assert told([]).num_rows == 0


def test_a_difference_says_where_a_majority_of_repeats_counts_as_right():
    measure = Measure("judge_accuracy", "tokens", 1000, judge="j")
    compared = study(comparison("one", "a", "b", measure))
    whole = [*scored("a", [1, 1, 0, 1], measure=measure), *scored("b", [0, 1, 0, 0], measure=measure)]
    row = pick(told(whole, compared), statistic="difference", slice="all")
    assert (row["only_a"], row["only_b"]) == (2, 0)
    assert "majority" not in row["note"]
    again = scored("a", [0, 1, 0, 1], repeat=1, measure=measure)
    row = pick(told([*whole, *again], compared), statistic="difference", slice="all")
    assert (row["only_a"], row["only_b"]) == (1, 0)
    assert "majority" in row["note"]


def test_only_judges_of_answers_are_compared_with_each_other():
    kinds = {"one": "strict", "two": "match", "three": "abstention"}
    judges = tuple(JudgeSpec(name, kind, model="m") for name, kind in kinds.items())
    judgements = [
        {
            "run_id": "r", "cell": "a", "conversation_id": f"v{place % 3}", "question_id": f"q{place}",
            "cutoff_kind": "tokens", "cutoff": 1000, "judge": judge, "label_set": "official",
            "correct": bool((place + len(judge)) % 2),
        }
        for place in range(6)
        for judge in kinds
    ]  # fmt: skip
    table = told([], study(judges=judges), judgements)
    assert {row["judge"] for row in table.to_pylist() if row["statistic"] == "kappa"} == {"one|two"}
