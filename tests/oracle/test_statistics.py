"""Intervals, tests and agreement beside scipy and statsmodels, on random and on degenerate input."""

import warnings

import numpy as np
import pytest
from scipy import stats

from memlake.transforms.score.statistics.agreement import kappa
from memlake.transforms.score.statistics.resampling import cluster_weights, holm, mcnemar, ratio_intervals, sign_flips
from memlake.transforms.score.statistics.variance import components

contingency = pytest.importorskip("statsmodels.stats.contingency_tables", reason="pip install statsmodels")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
multitest = pytest.importorskip("statsmodels.stats.multitest")


@pytest.mark.parametrize("clusters", [8, 40])
def test_the_interval_is_that_of_scipy_for_a_ratio_over_clusters(clusters):
    generator = np.random.default_rng(clusters)
    counts = generator.integers(1, 30, clusters).astype(float)
    sums = generator.binomial(counts.astype(int), generator.beta(4, 3, clusters)).astype(float)
    low, high = ratio_intervals(cluster_weights(clusters, 7), sums[None, :], counts[None, :])
    theirs = stats.bootstrap(
        (sums, counts),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=40_000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert low[0] == pytest.approx(theirs.low, abs=0.03 * width)
    assert high[0] == pytest.approx(theirs.high, abs=0.03 * width)


def _their_flips(sums, **more):
    test = stats.permutation_test(
        (sums,), lambda x, axis: np.sum(x, axis=axis), permutation_type="samples", vectorized=True, **more
    )
    return float(test.pvalue)


@pytest.mark.parametrize("clusters", [2, 5, 10, 13])
@pytest.mark.parametrize("whole", [True, False])
def test_exact_sign_flips_are_those_of_scipy(clusters, whole):
    generator = np.random.default_rng(clusters)
    for _ in range(5):
        sums = generator.normal(0.3, 1, clusters)
        sums = np.round(3 * sums) if whole else sums
        assert sign_flips(sums, seed=7).p == pytest.approx(_their_flips(sums, n_resamples=np.inf))


def test_drawn_sign_flips_are_near_those_of_scipy():
    sums = np.random.default_rng(3).normal(0.25, 1, 60)
    theirs = _their_flips(sums, n_resamples=40_000, rng=np.random.default_rng(1))
    assert sign_flips(sums, seed=7).p == pytest.approx(theirs, abs=0.015)


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (0, 5), (5, 0), (3, 3), (158, 44), (1, 0), (12, 30)])
def test_mcnemar_is_that_of_statsmodels_and_a_binomial_test(only_a, only_b):
    theirs = contingency.mcnemar([[10, only_a], [only_b, 4]], exact=True).pvalue
    assert mcnemar(only_a, only_b).p == pytest.approx(float(theirs))
    if only_a + only_b:
        test = stats.binomtest(only_a, only_a + only_b)
        assert mcnemar(only_a, only_b).p == pytest.approx(float(test.pvalue))
        assert mcnemar(only_a, only_b).low == pytest.approx(test.proportion_ci(method="exact").low)


def test_the_published_mcnemar_of_the_first_judge_is_found_again():
    assert np.log10(mcnemar(158, 44).p) == pytest.approx(-15.6, abs=0.05)


def test_holm_is_that_of_statsmodels():
    generator = np.random.default_rng(4)
    families = [generator.random(size) ** 3 for size in (1, 2, 7, 30)] + [np.full(4, 0.02), np.zeros(3), np.ones(3)]
    for family in families:
        theirs = multitest.multipletests(family, method="holm")[1]
        assert holm(family.tolist()) == pytest.approx(theirs.tolist())


def test_kappa_is_that_of_statsmodels_and_undefined_where_theirs_is():
    generator = np.random.default_rng(5)
    tables = [generator.integers(0, 40, (2, 2)) for _ in range(50)]
    tables += [np.array([[5, 0], [0, 0]]), np.array([[0, 5], [0, 0]]), np.array([[0, 3], [4, 0]])]
    for table in tables:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            theirs = float(inter_rater.cohens_kappa(table).kappa)
        ours = kappa(table.reshape(4, 1).astype(float))[0]
        assert ours == pytest.approx(theirs, nan_ok=True)


def test_components_are_those_of_a_mixed_model():
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    generator = np.random.default_rng(6)
    values = generator.normal(0, 0.5, (60, 1, 1, 1)) + generator.normal(0, 0.3, (60, 1, 4, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = mixed.MixedLM(values.ravel(), np.ones((240, 1)), groups=np.repeat(np.arange(60), 4)).fit(reml=True)
    # Balanced and positive: the estimates of REML are those by mean squares.
    found = components(values)
    assert found["reader"] == pytest.approx(float(fitted.scale), rel=1e-3)
    assert found["question"] == pytest.approx(float(fitted.cov_re[0, 0]), rel=1e-2)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(7)
    weights = cluster_weights(40, 7, resamples=2000)
    rate = generator.beta(6, 4, (400, 40))
    counts = generator.integers(5, 40, (400, 40)).astype(float)
    sums = generator.binomial(counts.astype(int), rate).astype(float)
    low, high = ratio_intervals(weights, sums, counts)
    covered = np.mean((low <= 0.6) & (high >= 0.6))
    # 40 clusters: a percentile interval is a little short; 3 standard errors of 400 trials are .033.
    assert 0.90 <= covered <= 0.98
