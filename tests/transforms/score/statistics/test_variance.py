"""Variance components against the variances that values were drawn with, and against analysis of variance by hand."""

import numpy as np
import pytest

from memlake.transforms.score.statistics.variance import Grid, component_rows, components, spread_row, stacked


def drawn(questions, extractions, readers, judges, deviations, seed=1):
    generator = np.random.default_rng(seed)
    shape = (questions, extractions, readers, judges)
    values = np.zeros(shape)
    for axis, deviation in enumerate(deviations):
        values += generator.normal(0, deviation, (*shape[: axis + 1], *[1] * (3 - axis)))
    return values


def grid(values, clusters=25):
    return Grid({"run_id": "r", "corpus": "c"}, np.arange(len(values)) % clusters, values)


def test_components_are_the_variances_that_were_drawn():
    found = components(drawn(2000, 3, 3, 3, (0.5, 0.3, 0.2, 0.1)))
    assert list(found) == ["question", "extraction", "reader", "judge"]
    assert list(found.values()) == pytest.approx([0.25, 0.09, 0.04, 0.01], rel=0.1)


def test_a_step_that_was_not_repeated_has_no_component():
    found = components(drawn(2000, 1, 4, 1, (0.5, 0.0, 0.2, 0.0)))
    assert list(found) == ["question", "reader"]
    assert list(found.values()) == pytest.approx([0.25, 0.04], rel=0.1)


def test_two_questions_read_twice_are_decomposed_by_hand():
    values = np.array([[1.0, 3.0], [5.0, 9.0]]).reshape(2, 1, 2, 1)
    # Within: (2 + 8) / 2 = 5. Between: 2 * ((2 - 4.5)^2 + (7 - 4.5)^2) / 1 = 25; (25 - 5) / 2 = 10.
    assert components(values) == {"question": 10.0, "reader": 5.0}


def test_rows_say_what_was_cut_off_at_zero_and_which_questions_were_left_out():
    values = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, 1.0]]).reshape(3, 1, 2, 1)
    question, reader = component_rows(grid(values))
    assert (question["statistic"], question["value"], reader["value"]) == ("var_question", 0.0, 0.5)
    assert "truncated" in question["note"]
    assert (question["n"], question["excluded_a"], question["clusters"]) == (2, 1, 2)


def test_spread_is_between_the_means_of_repeats_on_the_same_questions():
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]).reshape(3, 1, 2, 1)
    (row,) = spread_row(grid(values), "reader")
    assert row["value"] == pytest.approx(np.std([1.0, 0.5], ddof=1))
    assert (row["statistic"], row["n"], row["excluded_a"]) == ("sd_reader", 2, 1)
    assert list(spread_row(grid(values), "judge")) == []


def test_without_a_common_question_there_is_no_number():
    values = np.array([[1.0, np.nan], [np.nan, 1.0]]).reshape(2, 1, 2, 1)
    (row,) = spread_row(grid(values), "reader")
    assert (row["value"], row["n"]) == (None, 0)
    assert "no_scores" in row["note"]
    assert [component["value"] for component in component_rows(grid(values))] == [None, None]


def test_extractions_that_were_read_unequally_often_share_no_whole_question():
    once, twice = np.ones((4, 1, 1, 1)), np.ones((4, 1, 2, 1))
    assert stacked([once, twice]).shape == (4, 2, 2, 1)
    assert not grid(stacked([once, twice])).complete.any()
