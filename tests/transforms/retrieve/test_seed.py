import numpy as np
import pytest

from memlake.transforms.retrieve.steps.seed import cosines


def test_a_cosine_is_that_of_float64_to_well_below_a_float32():
    generator = np.random.default_rng(7)
    questions = generator.standard_normal((20, 256)).astype(np.float32)
    units = generator.standard_normal((50, 256)).astype(np.float32)
    wide_questions, wide_units = questions.astype(np.float64), units.astype(np.float64)
    lengths = np.outer(np.linalg.norm(wide_questions, axis=1), np.linalg.norm(wide_units, axis=1))
    assert np.abs(cosines(questions, units) - wide_questions @ wide_units.T / lengths).max() < 3e-8


def test_a_cosine_has_the_same_bits_whatever_stands_beside_it():
    generator = np.random.default_rng(8)
    questions = generator.standard_normal((9, 256)).astype(np.float32)
    units = generator.standard_normal((301, 256)).astype(np.float32)
    whole = cosines(questions, units)
    alone = np.array([[cosines(q[None], u[None])[0, 0] for u in units] for q in questions])
    backwards = cosines(questions[::-1], units[::-1])[::-1, ::-1]
    assert whole.tobytes() == alone.tobytes()
    assert whole.tobytes() == np.ascontiguousarray(backwards).tobytes()


def test_sums_stay_exact_for_a_thousand_equal_dimensions():
    ones = np.ones((1, 1024), np.float32)
    assert cosines(ones, ones)[0, 0] == pytest.approx(1.0, abs=1e-7)
    assert cosines(ones, -ones)[0, 0] == -cosines(ones, ones)[0, 0]


def test_without_a_vector_there_is_no_cosine_and_a_zero_vector_has_cosine_zero():
    units = np.array([[3, 4], [np.nan, np.nan], [0, 0]], np.float32)
    questions = np.array([[3, 4], [np.nan, np.nan]], np.float32)
    first, second = cosines(questions, units)
    assert first[0] == pytest.approx(1.0, abs=1e-7)
    assert np.isnan(first[1])
    assert first[2] == 0.0
    assert np.isnan(second).all()
