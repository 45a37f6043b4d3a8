"""Ties: a score is a float64 rounded to float32, equal ones go by unit_id, and a question's maximum is its own."""

import random

import numpy as np
import pytest
from small_tables import rows_of

from memlake.schemas import QUESTIONS, UNITS
from memlake.transforms.retrieve.cell import Cell, run_cell
from memlake.transforms.retrieve.plan import find_plan
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.retrieve.store.store import open_store

# The cosine of the first and the second differs from 1 by less than float32 can tell, and float64 tells it.
NEARLY = [[1.0, 1.75e-4], [1.0, 0.0]]


def searched(plan, units, questions, vectors=None, asked=None):
    """The ranked rows of each question: units are (unit_id, text) pairs."""
    rows = [{"representation": "notes", "unit_id": name, "key_text": text, "show_text": text} for name, text in units]
    found = run_cell(
        Cell("r", "c1", find_plan(plan), "chars4", Cutoffs(k=(1,))),
        store=open_store(rows_of(UNITS, rows), vectors=None if vectors is None else np.array(vectors, np.float32)),
        questions=rows_of(QUESTIONS, [{"question_id": f"q{n}", "text": text} for n, text in enumerate(questions)]),
        question_vectors=None if asked is None else np.array(asked, np.float32),
    )
    rows = found.retrievals.to_pylist()
    return [[row for row in rows if row["question_id"] == f"q{n}"] for n in range(len(questions))]


def test_many_equal_scores_stand_in_the_order_of_their_ids():
    units = [(f"{n:03}", "stone and river" if n % 3 else "stone") for n in range(90)]
    random.Random(1).shuffle(units)
    [rows] = searched("lexical", units, ["stone"])
    names = [row["unit_id"] for row in rows]
    assert names == [f"{n:03}" for n in range(90) if n % 3 == 0] + [f"{n:03}" for n in range(90) if n % 3]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_scores_that_float32_cannot_tell_apart_are_a_tie(names):
    [rows] = searched("dense", [(name, "x") for name in names], ["?"], NEARLY, [[1, 0]])
    assert [row["unit_id"] for row in rows] == ["a", "b"]
    assert rows[0]["score"] == rows[1]["score"]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_reciprocal_ranks_take_what_float32_cannot_tell_apart_for_a_tie(names):
    [rows] = searched("rrf", [(name, "x") for name in names], ["?"], NEARLY, [[1, 0]])
    assert [(row["unit_id"], row["score"]) for row in rows] == [
        ("a", pytest.approx(1 / 61)),
        ("b", pytest.approx(1 / 62)),
    ]


def test_the_largest_bm25_is_that_of_the_question_and_of_no_other():
    units = [("a", "apple"), ("b", "plum plum tart and much more of it"), ("c", "pear"), ("d", "pear apple pear")]
    found = searched("hybrid", units, ["apple", "plum", "pear"], [[1, 0]] * 4, [[0, 1]] * 3)
    largest = [max(row["lexical"] for row in rows) for rows in found]
    assert len({round(value, 3) for value in largest}) > 1
    for rows, most in zip(found, largest, strict=True):
        assert rows[0]["score"] == pytest.approx(0.3, abs=1e-6)
        for row in rows:
            assert row["score"] == pytest.approx(0.3 * row["lexical"] / most, abs=1e-6)
