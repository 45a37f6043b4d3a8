"""Paired tests by hand, and under a null where nothing is to be found."""

from itertools import permutations, product

import numpy as np
import pytest

from memlake.transforms.score.statistics.resampling import detectable, holm, mcnemar, sign_flips


def test_sign_flips_of_three_conversations_are_all_eight():
    found = sign_flips(np.array([3.0, 2.0, -1.0]), seed=7)
    totals = [abs(a * 3 + b * 2 - c) for a, b, c in product((1, -1), repeat=3)]
    assert found.p == sum(total >= 4 for total in totals) / 8
    assert (found.flips, found.method) == (3, "sign flips by conversation, all 8")


def test_totals_that_differ_in_the_last_digit_are_equal():
    # As floats .1 + .2 - .3 + .6 is more than .3 - .1 - .2 + .6, and which is added first decides by how much.
    for whole in permutations([1.0, 2.0, -3.0, 6.0]):
        assert sign_flips(np.array(whole) / 10, seed=7).p == sign_flips(np.array(whole), seed=7).p


def test_conversations_without_a_difference_change_no_p():
    sums = np.array([1.0, 2.0, 3.0, 4.0])
    assert sign_flips(np.concatenate([sums, np.zeros(30)]), seed=7) == sign_flips(sums, seed=7)


def test_no_difference_at_all_is_no_finding():
    assert (sign_flips(np.zeros(40), seed=7).p, sign_flips(np.array([]), seed=7).p) == (1.0, 1.0)


def test_many_conversations_draw_their_signs_and_p_is_never_zero():
    found = sign_flips(np.ones(40), seed=7)
    assert found.p == 1 / 10_001
    assert found.method == "sign flips by conversation, 10000 drawn, seed 7"
    sums = np.random.default_rng(2).normal(0.2, 1, 40)
    assert sign_flips(sums, seed=7) == sign_flips(sums, seed=7)
    assert sign_flips(sums, seed=7).p != sign_flips(sums, seed=8).p


def test_p_is_uniform_when_cells_are_alike():
    generator = np.random.default_rng(5)
    values = [sign_flips(generator.normal(0, 1 + np.arange(12)), seed=7).p for _ in range(600)]
    for level in (0.05, 0.2, 0.5, 0.8):
        assert np.mean(np.array(values) <= level) == pytest.approx(level, abs=3 * np.sqrt(level * (1 - level) / 600))


def test_mcnemar_is_a_coin_on_what_is_discordant():
    found = mcnemar(1, 4)
    assert found.p == pytest.approx(2 * (1 + 5) / 32)
    assert found.share == 0.2
    assert 0 < found.low < 0.2 < found.high < 1
    nothing = mcnemar(0, 0)
    assert (nothing.p, nothing.share, nothing.low) == (1.0, None, None)


def test_holm_steps_down_and_keeps_the_place_of_what_has_no_p():
    assert holm([0.01, 0.04, 0.03, 0.005]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06), 0.02]
    assert holm([0.02, None, 0.5]) == [pytest.approx(0.06), None, 1.0]
    assert holm([]) == []


def test_what_is_detectable_shrinks_with_conversations_and_is_nothing_without_variance():
    generator = np.random.default_rng(4)
    sums = generator.normal(0, 1, 160)
    few, many = detectable(sums[:40], np.full(40, 1.0)), detectable(sums, np.full(160, 1.0))
    assert few / many == pytest.approx(2, rel=0.25)
    assert detectable(sums[:1], np.ones(1)) is None
    assert detectable(np.array([2.0, 4.0]), np.array([1.0, 2.0])) is None
    assert detectable(np.zeros(4), np.ones(4)) is None


def test_the_detectable_difference_is_found_four_times_in_five():
    generator = np.random.default_rng(9)
    counts = np.full(12, 1.0)
    sums = [generator.normal(0, 1, 12) for _ in range(500)]
    # t(.975) + t(.8) standard errors of a known variance.
    effect = float(np.mean([detectable(sample, counts) for sample in sums]))
    found = [sign_flips(sample + effect, seed=7).p <= 0.05 for sample in sums]
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)
