"""Resampling of conversations: by hand, by enumeration, and whatever would make a number that is none."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlake.transforms.score.statistics import resampling
from memlake.transforms.score.statistics.resampling import cluster_weights, percentile_ends, ratio_intervals, resampled


def test_every_resample_draws_as_many_conversations_as_there_are():
    weights = cluster_weights(13, 7)
    assert weights.shape == (10_000, 13)
    assert (weights.sum(axis=1) == 13).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(13), abs=0.05)


def test_a_seed_draws_the_same_and_another_draws_otherwise():
    assert np.array_equal(cluster_weights(5, 7), cluster_weights(5, 7))
    assert not np.array_equal(cluster_weights(5, 7), cluster_weights(5, 8))


def test_weights_drawn_in_blocks_are_still_whole_resamples(monkeypatch):
    monkeypatch.setattr(resampling, "_WEIGHTS_AT_A_TIME", 50)
    weights = cluster_weights(7, 1, resamples=33)
    assert (weights.sum(axis=1) == 7).all()


def test_the_interval_of_three_conversations_is_that_of_all_27_draws():
    sums, counts = np.array([0.0, 3.0, 4.0]), np.array([2.0, 3.0, 10.0])
    draws = [np.bincount(draw, minlength=3) for draw in product(range(3), repeat=3)]
    weights = np.array(draws, np.uint16)
    low, high = ratio_intervals(weights, sums[None, :], counts[None, :])
    means = [float(draw @ sums) / float(draw @ counts) for draw in draws]
    assert low[0] == pytest.approx(np.quantile(means, 0.025))
    assert high[0] == pytest.approx(np.quantile(means, 0.975))


def test_questions_weigh_alike_whatever_conversation_they_are_of():
    # One conversation of 98 wrong answers, one of 2 right ones: a draw of one of each has mean .02, not .5.
    weights = np.array([[1, 1]] * 100, np.uint16)
    low, high = ratio_intervals(weights, np.array([[0.0, 2.0]]), np.array([[98.0, 2.0]]))
    assert (low[0], high[0]) == (pytest.approx(0.02), pytest.approx(0.02))


@pytest.mark.parametrize(
    ("sums", "counts"),
    [([3.0, 0.0], [4.0, 0.0]), ([0.0, 0.0], [0.0, 0.0]), ([2.0, 1.0], [4.0, 2.0]), ([0.1 * 3, 0.3], [1.0, 1.0])],
    ids=["one conversation", "none", "equal ratios", "equal but for the last digit"],
)
def test_what_cannot_vary_has_no_interval(sums, counts):
    low, high = ratio_intervals(cluster_weights(2, 7), np.array([sums]), np.array([counts]))
    assert np.isnan([low[0], high[0]]).all()


def test_a_resample_without_any_question_is_left_out():
    weights = np.array([[2, 0, 0]] * 50 + [[0, 1, 1]] * 50, np.uint16)
    low, high = ratio_intervals(weights, np.array([[0.0, 1.0, 3.0]]), np.array([[0.0, 4.0, 4.0]]))
    assert (low[0], high[0]) == (0.5, 0.5)


def test_blocks_and_repeated_columns_change_no_number(monkeypatch):
    generator = np.random.default_rng(3)
    counts = generator.integers(0, 4, (150, 9)).astype(float)
    sums = counts * generator.random((150, 9))
    sums[70:90], counts[70:90] = sums[:20], counts[:20]
    weights = cluster_weights(9, 7, resamples=400)
    whole = ratio_intervals(weights, sums, counts)
    monkeypatch.setattr(resampling, "_COLUMNS_AT_A_TIME", 7)
    monkeypatch.setattr(resampling, "_WEIGHTS_AT_A_TIME", 90)
    np.testing.assert_allclose(whole, ratio_intervals(weights, sums, counts), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), min_size=30, max_size=30), min_size=1, max_size=4
    )
)
def test_percentiles_are_those_of_numpy_without_missing_values(rows):
    values = np.array(rows)
    low, high = percentile_ends(values.copy())
    for row, lower, upper in zip(values, low, high, strict=True):
        there = row[~np.isnan(row)]
        expected = np.quantile(there, [0.025, 0.975]) if len(there) else [np.nan, np.nan]
        np.testing.assert_allclose([lower, upper], expected, atol=1e-12)


def test_percentiles_of_many_values_are_those_of_numpy():
    values = np.random.default_rng(1).integers(0, 50, (5, 10_000)) / 7
    np.testing.assert_allclose(percentile_ends(values.copy()), np.quantile(values, [0.025, 0.975], axis=1), rtol=1e-14)


def test_a_statistic_of_several_sums_is_resampled_alike():
    weights = cluster_weights(6, 7, resamples=500)
    sums, counts = np.arange(6.0), np.full(6, 2.0)
    ends = resampled(weights, np.stack([sums, counts]), lambda total: total[0] / total[1])
    low, high = ratio_intervals(weights, sums[None, :], counts[None, :])
    assert ends == (pytest.approx(low[0]), pytest.approx(high[0]))
