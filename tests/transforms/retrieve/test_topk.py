"""The top k is that of all cosines on the grid, whatever the blocks, ties, holes and lengths of the vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from memlake.transforms.base.arrays import GRID, on_grid
from memlake.transforms.base.errors import UsageError
from memlake.transforms.retrieve.indexes import crew, topk
from memlake.transforms.retrieve.indexes.topk import top_k


def cosines(questions, units):
    """What the seed step gives."""
    return np.where(
        np.isnan(questions).any(axis=1)[:, None] | np.isnan(units).any(axis=1),
        np.nan,
        on_grid(questions) @ on_grid(units).T / GRID**2,
    )


def plainly(questions, units, k, at_least=-np.inf):
    """Every cosine, sorted: what the seed step and the rank step do."""
    score = cosines(questions, units).astype(np.float32)
    index, best = np.full((len(questions), k), -1), np.full((len(questions), k), np.nan)
    for row, scores in enumerate(score):
        there = np.flatnonzero(scores >= at_least)
        order = there[np.argsort(-scores[there], kind="stable")][:k]
        index[row, : len(order)], best[row, : len(order)] = order, scores[order]
    return index, best


def assert_same(found, expected):
    assert np.array_equal(found.index, expected[0])
    assert np.array_equal(found.score, expected[1], equal_nan=True)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("k", [0, 1, 7, 100, 500])
@pytest.mark.parametrize(("questions", "units", "dimension"), [(3, 1, 8), (40, 333, 16), (5, 300, 1), (150, 700, 64)])
def test_it_is_the_top_of_all_cosines(k, questions, units, dimension):
    asked, stored = normal(1, questions, dimension), normal(2, units, dimension) * np.float32(3.7)
    assert_same(top_k(asked, stored, k, block_units=64), plainly(asked, stored, k))


def test_thousands_of_equal_vectors_stand_in_the_order_of_their_positions():
    asked = normal(3, 20, 48)
    stored = np.repeat(normal(4, 5, 48), 1000, axis=0)[np.random.default_rng(5).permutation(5000)]
    found = top_k(asked, stored, 100, block_units=256)
    assert_same(found, plainly(asked, stored, 100))
    assert (np.diff(found.index) > 0).all()
    assert (found.score == found.score[:, :1]).all()


@pytest.mark.parametrize("scale", [1e-7, 3e-8, 1e-6])
def test_more_ties_and_near_ties_at_the_border_than_any_margin_are_told_apart(scale):
    # All of them lie within what a float32 product may be wrong by; half of the border differs in the last bits only.
    centre = normal(6, 1, 256)
    stored = (centre + scale * normal(7, 3000, 256)).astype(np.float32)
    stored[::2] = stored[0]
    asked = np.concatenate([centre, normal(8, 4, 256)])
    for k in (10, 50, 1499, 1501):
        assert_same(top_k(asked, stored, k, block_units=500), plainly(asked, stored, k))
    for border in np.unique(plainly(centre, stored, 3000)[1])[:3]:
        assert_same(top_k(asked, stored, 3000, at_least=border), plainly(asked, stored, 3000, at_least=border))


def test_cosines_that_float32_cannot_tell_apart_are_a_tie_by_position():
    stored = np.array([[1.0, 1.75e-4], [1.0, 0.0]], np.float32)
    for order in ([0, 1], [1, 0]):
        found = top_k(np.array([[1.0, 0.0]], np.float32), stored[order], 1)
        assert (found.index.item(), found.score.item()) == (0, 1.0)


def test_rows_with_holes_are_never_found_and_rows_of_zeros_have_cosine_zero():
    stored = normal(9, 90, 12)
    stored[::7] = np.nan
    stored[3, 5], stored[4, 2] = np.inf, -np.inf
    stored[5::9] = 0
    asked = normal(10, 6, 12)
    asked[2, 0], asked[4] = np.nan, 0
    found = top_k(asked, stored, 90, block_units=32)
    holes = np.where(np.isfinite(stored).all(axis=1)[:, None], stored, np.nan)
    assert_same(found, plainly(asked, holes, 90))
    assert (found.index[2] == -1).all()
    assert not np.isin([0, 3, 4, 7], found.index).any()
    assert (found.score[4][found.index[4] >= 0] == 0).all()


def test_vectors_too_long_or_short_for_a_float32_square_are_still_only_directions():
    directions = normal(11, 60, 20)
    scales = np.float32(10.0) ** np.resize([30, -30, 0, 18, -20], 60).astype(np.float32)
    stored = directions * scales[:, None]
    assert_same(top_k(directions[:9], stored, 20), plainly(directions[:9], stored, 20))


def test_too_few_units_leave_the_rest_of_a_row_empty():
    found = top_k(normal(12, 2, 4), normal(13, 3, 4), 5)
    assert found.index.shape == found.score.shape == (2, 5)
    assert (found.index[:, 3:] == -1).all()
    assert np.isnan(found.score[:, 3:]).all()
    assert top_k(normal(12, 2, 4), np.empty((0, 4), np.float32), 5).index.tolist() == [[-1] * 5] * 2
    assert top_k(np.empty((0, 4), np.float32), normal(13, 3, 4), 5).index.shape == (0, 5)


def test_at_least_leaves_out_what_is_below_and_keeps_what_rounds_to_it():
    asked, stored = normal(14, 30, 6), normal(15, 400, 6)
    border = float(plainly(asked, stored, 9)[1][0, 8])
    found = top_k(asked, stored, 400, at_least=border)
    assert_same(found, plainly(asked, stored, 400, at_least=border))
    assert (found.index[0] >= 0).sum() == 9


def test_blocks_of_any_size_a_stream_and_any_number_of_threads_give_the_same_bits(monkeypatch):
    asked, stored = normal(16, 200, 96), np.repeat(normal(17, 1500, 96), 2, axis=0)
    expected = top_k(asked, stored, 25)
    again = [top_k(asked, stored, 25, block_units=u, block_questions=q) for u, q in ((1, 200), (17, 7), (9999, 64))]
    streams = [np.split(stored, np.cumsum(sizes)[:-1]) for sizes in ([3000], [1, 999, 0, 1500, 500], [10] * 300)]
    again += [top_k(asked, blocks, 25, block_units=128) for blocks in streams]
    for cores in (1, 2, 5):
        monkeypatch.setattr(crew, "WORTH_THREADS", 1)
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        again.append(top_k(asked, stored, 25, block_units=300))
        again.append(top_k(asked, iter([stored]), 25, block_units=300))
        with threadpool_limits(cores):
            again.append(top_k(asked, stored, 25))
    for found in again:
        assert found.index.tobytes() == expected.index.tobytes()
        assert found.score.tobytes() == expected.score.tobytes()


def test_a_stream_is_read_once_and_only_its_candidates_are_held(monkeypatch):
    held = []
    prune = topk._Kept.prune

    def noted(self, candidates):
        held.append(len(self))
        prune(self, candidates)
        held.append(len(self))

    monkeypatch.setattr(topk._Kept, "prune", noted)
    asked, seen = normal(18, 4, 8), []

    def blocks():
        for number in range(400):
            seen.append(number)
            yield normal(100 + number, 64, 8)

    found = top_k(asked, blocks(), 5, block_units=64)
    stored = np.concatenate([normal(100 + number, 64, 8) for number in range(400)])
    assert_same(found, plainly(asked, stored, 5))
    assert seen == list(range(400))
    assert max(held) < 600 < len(stored) / 40


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_small_vectors_of_small_numbers_tie_in_every_way(data):
    questions, units = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 40))
    numbers = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, float("nan")])
    rows = data.draw(
        st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=questions + units, max_size=questions + units)
    )
    vectors = np.array(rows, np.float32)
    k, block = data.draw(st.integers(1, units + 2)), data.draw(st.integers(1, 50))
    asked, stored = vectors[:questions], vectors[questions:]
    assert_same(top_k(asked, stored, k, block_units=block), plainly(asked, stored, k))


def test_the_margin_holds_what_a_float32_product_may_be_wrong_by():
    for dimension in (2, 64, 1024):
        asked, stored = normal(19, 200, dimension), normal(20, 500, dimension)
        rows = [topk._unit_rows(vectors)[0] for vectors in (asked, stored)]
        wrong = np.abs(rows[0] @ rows[1].T - cosines(asked, stored)).max()
        assert 0 < wrong < topk._error_bound(dimension)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(UsageError, match="k=-1"):
        top_k(normal(1, 2, 4), normal(2, 3, 4), -1)
    with pytest.raises(UsageError, match="dimension=5"):
        top_k(normal(1, 2, 4), normal(2, 3, 5), 1)
