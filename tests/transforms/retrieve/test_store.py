import numpy as np
import pyarrow as pa
import pytest
from small_tables import rows_of

from memlake.schemas import UNITS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.retrieve.store.store import UNIT_TOKENS, align_vectors, open_store


def units_of(*names, **columns):
    return rows_of(UNITS, [{"unit_id": name, "show_text": name, **columns} for name in names])


def stored_vectors(pairs):
    vectors = pa.array([vector for _, vector in pairs], pa.list_(pa.float32(), 2))
    return pa.table({"unit_id": [name for name, _ in pairs], "vector": vectors})


def test_vectors_follow_the_units_into_the_order_of_their_ids():
    store = open_store(units_of("b", "c", "a"), vectors=np.float32([[2, 2], [3, 3], [1, 1]]))
    assert store.units["unit_id"].to_pylist() == ["a", "b", "c"]
    assert store.vectors.dense[:, 0].tolist() == [1, 2, 3]


def test_stored_vectors_are_found_by_unit_and_null_becomes_nan():
    stored = pa.concat_tables([stored_vectors([("x", [9, 9]), ("b", [3, 4])]), stored_vectors([("a", None)])])
    aligned = align_vectors(units_of("a", "b"), stored)
    assert aligned.dense.dtype == np.float32
    assert np.isnan(aligned.dense[0]).all()
    assert aligned.missing.tolist() == [True, False]
    assert aligned.dense[1].tolist() == [3, 4]
    assert align_vectors(UNITS.empty(), stored).dense.shape == (0, 2)


def test_a_unit_that_was_never_embedded_is_an_error_not_a_null():
    with pytest.raises(NotFoundError, match="units=1 of 2 have no vector, the first is unit_id=b"):
        align_vectors(units_of("a", "b"), stored_vectors([("a", [1, 2])]))


def test_units_of_two_conversations_and_vectors_of_another_number_are_refused():
    two = pa.concat_tables([units_of("a"), units_of("b", conversation_id="w")])
    with pytest.raises(UsageError, match="conversations=2 in one store"):
        open_store(two)
    with pytest.raises(UsageError, match="vectors=1 for units=2"):
        open_store(units_of("a", "b"), vectors=np.zeros((1, 2), np.float32))


def test_unit_tokens_are_distinct_in_a_representation():
    rows = [
        {"unit_id": "1", "representation": "notes", "show_text": "Red cars"},
        {"unit_id": "2", "representation": "notes", "show_text": "a red bus"},
        {"unit_id": "3", "representation": "facts", "show_text": "the red bus"},
    ]
    tokens = open_store(rows_of(UNITS, rows)).unit_tokens
    assert tokens.schema == UNIT_TOKENS
    assert sorted((row["representation"], row["token"]) for row in tokens.to_pylist()) == [
        ("facts", "bus"), ("facts", "red"), ("notes", "bus"), ("notes", "car"), ("notes", "red"),
    ]  # fmt: skip
    assert open_store(UNITS.empty()).unit_tokens.num_rows == 0


def test_other_languages_keep_their_words_whole():
    row = {"unit_id": "1", "show_text": "rode autos"}
    assert set(open_store(rows_of(UNITS, [row]), language="other").unit_tokens["token"].to_pylist()) == {
        "rode",
        "autos",
    }
