from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from small_tables import rows_of

from memlake.schemas import CONTEXTS, QUESTIONS, RETRIEVALS, UNITS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.retrieve.cell import Cell, run_cell
from memlake.transforms.retrieve.plan import find_plan, parse_plan
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.retrieve.store.store import open_store

NONE = [np.nan, np.nan]
CUTOFFS = [("tokens", 3), ("tokens", 100), ("k", 1), ("k", 2)]


def store_of(units, vectors=None):
    """A store of (unit_id, text) pairs."""
    rows = [{"representation": "notes", "unit_id": name, "key_text": text, "show_text": text} for name, text in units]
    return open_store(rows_of(UNITS, rows), vectors=None if vectors is None else np.array(vectors, np.float32))


def questions_of(*texts):
    return rows_of(QUESTIONS, [{"question_id": f"q{n}", "text": text} for n, text in enumerate(texts)])


def cell_of(plan, *, tokens=(), k=(), depth=100, tokeniser="chars4", texts=()):
    return Cell("r", "c1", find_plan(plan), tokeniser, Cutoffs(tuple(tokens), tuple(k)), depth, frozenset(texts))


def ranked(found, question="q0"):
    return [row["unit_id"] for row in found.retrievals.to_pylist() if row["question_id"] == question]


def context(found, kind, cutoff, question="q0"):
    (row,) = [
        row
        for row in found.contexts.to_pylist()
        if (row["question_id"], row["cutoff_kind"], row["cutoff"]) == (question, kind, cutoff)
    ]
    return row


def test_units_rank_by_cosine_and_ties_by_unit_id():
    store = store_of([("b", "x"), ("c", "x"), ("a", "x"), ("d", "x")], [[1, 0], [0, 1], [1, 0], [1, 1]])
    found = run_cell(cell_of("dense"), store=store, questions=questions_of("?"), question_vectors=np.float32([[2, 0]]))
    assert ranked(found) == ["a", "b", "d", "c"]
    rows = found.retrievals.to_pylist()
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert [row["score"] for row in rows] == [row["dense"] for row in rows]
    assert rows[2]["dense"] == pytest.approx(0.5**0.5, abs=1e-7)
    assert found.retrievals["lexical"].null_count == 4


def test_a_unit_without_a_vector_has_no_cosine_and_ranks_last():
    store = store_of([("a", "apple"), ("b", "pear"), ("c", "plum")], [NONE, [-1, 0], [1, 0]])
    for plan in ("dense", "hybrid"):
        found = run_cell(
            cell_of(plan), store=store, questions=questions_of("figs"), question_vectors=np.float32([[1, 0.1]])
        )
        assert ranked(found) == ["c", "b", "a"]
        assert [row["dense"] is None for row in found.retrievals.to_pylist()] == [False, False, True]


def test_the_weighted_score_is_cosine_and_the_share_of_the_largest_bm25():
    store = store_of([("a", "apple pie"), ("b", "apple apple tart"), ("c", "plum")], [[1, 0], [0, 1], [1, 1]])
    found = run_cell(
        cell_of("hybrid"),
        store=store,
        questions=questions_of("apple", "zebra"),
        question_vectors=np.float32([[1, 0]] * 2),
    )
    rows = {(row["question_id"], row["unit_id"]): row for row in found.retrievals.to_pylist()}
    largest = max(rows["q0", unit]["lexical"] for unit in "abc")
    for unit in "abc":
        row = rows["q0", unit]
        assert row["score"] == pytest.approx(0.7 * row["dense"] + 0.3 * row["lexical"] / largest, abs=1e-6)
        # No unit holds the word: the maximum is 0, and so is what it adds.
        assert rows["q1", unit]["score"] == pytest.approx(0.7 * rows["q1", unit]["dense"], abs=1e-6)


def test_reciprocal_ranks_add_up_and_what_a_scorer_did_not_find_gets_nothing_from_it():
    store = store_of([("a", "apple"), ("b", "pear"), ("c", "apple pear")], [[1, 0], [1, 1], NONE])
    found = run_cell(cell_of("rrf"), store=store, questions=questions_of("pear"), question_vectors=np.float32([[1, 0]]))
    scores = {row["unit_id"]: row["score"] for row in found.retrievals.to_pylist()}
    assert scores["a"] == pytest.approx(1 / 61, abs=1e-8)
    assert scores["b"] == pytest.approx(1 / 62 + 1 / 61, abs=1e-8)
    assert scores["c"] == pytest.approx(1 / 62, abs=1e-8)


def test_a_context_takes_units_while_their_cost_fits_and_stops_at_the_first_that_does_not():
    # Costs 3, 3, 11, 1: the last would fit after the third did not, and is left out all the same.
    store = store_of(
        [("a", "aaaaaaaa"), ("b", "bbbbbbbb"), ("c", "c" * 40), ("d", "d")], [[4, 0], [4, 1], [4, 2], [4, 3]]
    )
    found = run_cell(
        cell_of("dense", tokens=(2, 6, 16, 17, 18), k=(1, 3, 9), texts=[("tokens", 2), ("tokens", 6)]),
        store=store,
        questions=questions_of("?"),
        question_vectors=np.float32([[1, 0]]),
    )
    assert [context(found, "tokens", budget)["units"] for budget in (2, 6, 16, 17, 18)] == [0, 2, 2, 3, 4]
    assert [context(found, "k", k)["units"] for k in (1, 3, 9)] == [1, 3, 4]
    assert context(found, "tokens", 6)["text"] == "aaaaaaaa\nbbbbbbbb"
    assert context(found, "tokens", 6)["tokens"] == 6
    assert context(found, "k", 3)["tokens"] == 17
    assert context(found, "tokens", 2)["text"] == ""
    assert context(found, "tokens", 2)["tokens"] == 0
    assert context(found, "tokens", 2)["content_tokens"] == []


def test_content_tokens_of_a_context_are_the_union_of_its_units():
    store = store_of([("a", "The red cars"), ("b", "a blue car"), ("c", "green")], [[3, 0], [3, 1], [3, 2]])
    found = run_cell(
        cell_of("dense", k=(1, 2, 3)),
        store=store,
        questions=questions_of("?", "?"),
        question_vectors=np.float32([[1, 0]] * 2),
    )
    for question in ("q0", "q1"):
        assert context(found, "k", 1, question)["content_tokens"] == ["car", "red"]
        assert context(found, "k", 2, question)["content_tokens"] == ["blue", "car", "red"]
        assert context(found, "k", 3, question)["content_tokens"] == ["blue", "car", "green", "red"]


def test_a_text_is_kept_where_the_cell_says_so_and_content_tokens_everywhere():
    store = store_of([("a", "red cars"), ("b", "a blue car")], [[3, 0], [3, 1]])
    found = run_cell(
        cell_of("dense", tokens=(3, 100), k=(1, 2), texts=[("tokens", 100), ("k", 1), ("k", 100)]),
        store=store,
        questions=questions_of("?", "?"),
        question_vectors=np.float32([[1, 0]] * 2),
    )
    for question in ("q0", "q1"):
        rows = {(kind, cutoff): context(found, kind, cutoff, question) for kind, cutoff in CUTOFFS}
        assert {cutoff: row["text"] for cutoff, row in rows.items()} == {
            ("tokens", 3): None, ("tokens", 100): "red cars\na blue car", ("k", 1): "red cars", ("k", 2): None,
        }  # fmt: skip
        assert {cutoff: row["content_tokens"] for cutoff, row in rows.items()} == {
            ("tokens", 3): ["car", "red"], ("tokens", 100): ["blue", "car", "red"],
            ("k", 1): ["car", "red"], ("k", 2): ["blue", "car", "red"],
        }  # fmt: skip
    none = run_cell(cell_of("lexical", tokens=(9,), k=(1,)), store=store, questions=questions_of("car"))
    assert none.contexts["text"].to_pylist() == [None] * 2


def test_ranks_are_kept_to_the_depth_or_as_deep_as_a_context_needs():
    store = store_of([(f"{n:03}", "word") for n in range(50)])
    shallow = run_cell(cell_of("lexical", k=(3,), depth=5), store=store, questions=questions_of("word"))
    deep = run_cell(cell_of("lexical", tokens=(40,), depth=5), store=store, questions=questions_of("word"))
    assert len(ranked(shallow)) == 5
    assert len(ranked(deep)) == context(deep, "tokens", 40)["units"] == 20


def test_no_units_give_empty_contexts_and_no_ranks():
    cell = cell_of("lexical", tokens=(9,), k=(2,), texts=[("tokens", 9)])
    found = run_cell(cell, store=open_store(UNITS.empty()), questions=questions_of("?", "!"))
    assert found.retrievals.num_rows == 0
    assert [(row["units"], row["text"]) for row in found.contexts.to_pylist()] == [(0, "")] * 2 + [(0, None)] * 2
    assert found.contexts["store_share"].null_count == 4
    assert np.isnan(found.reached).all()


def test_no_questions_give_empty_tables_of_the_schemas():
    found = run_cell(cell_of("lexical", k=(2,)), store=store_of([("a", "x")]), questions=QUESTIONS.empty())
    assert found.retrievals.schema == RETRIEVALS.schema
    assert found.contexts.schema == CONTEXTS.schema
    assert found.contexts.num_rows == 0


def test_the_order_of_the_units_and_a_second_run_change_nothing():
    generator = np.random.default_rng(3)
    words = [f"word{n}" for n in range(40)]
    units = [(f"u{n:03}", " ".join(generator.choice(words, 12))) for n in range(120)]
    vectors = generator.standard_normal((120, 16)).astype(np.float32)
    asked = questions_of(*(" ".join(generator.choice(words, 4)) for _ in range(30)))
    question_vectors = generator.standard_normal((30, 16)).astype(np.float32)
    order = generator.permutation(120)
    tables = []
    for places in (np.arange(120), np.arange(120), order):
        store = store_of([units[place] for place in places], vectors[places])
        cell = cell_of("hybrid", tokens=(50, 500), k=(1, 20), depth=7)
        found = run_cell(cell, store=store, questions=asked, question_vectors=question_vectors)
        tables.append((found.retrievals, found.contexts))
    assert tables[0] == tables[1] == tables[2]


def test_every_question_of_many_gets_what_it_gets_alone(monkeypatch):
    monkeypatch.setattr("memlake.transforms.retrieve.cell._BLOCK", 25)
    monkeypatch.setattr("memlake.transforms.retrieve.cell._MAX_BYTES", 64)
    store = store_of([(f"u{n:02}", f"fact{n % 5} about thing{n % 3}") for n in range(12)])
    cell = cell_of("lexical", tokens=(20, 40), k=(1, 5), texts=[("tokens", 20), ("tokens", 40), ("k", 5)])
    texts = [f"fact{n % 5} thing{n % 4}" for n in range(9)]
    together = run_cell(cell, store=store, questions=questions_of(*texts))
    for place in range(9):
        alone = run_cell(cell, store=store, questions=questions_of(*texts).slice(place, 1))
        assert ranked(together, f"q{place}") == ranked(alone, f"q{place}")
        for kind, cutoff in cell.cutoffs.pairs:
            assert context(together, kind, cutoff, f"q{place}") == context(alone, kind, cutoff, f"q{place}")


def test_what_cannot_be_searched_is_refused_and_says_why():
    store, asked = store_of([("a", "x")]), questions_of("?")
    with pytest.raises(UsageError, match="step='seed_dense' needs vectors: units have none, questions have none"):
        run_cell(cell_of("dense"), store=store, questions=asked)
    with pytest.raises(UsageError, match="question vectors=2 for questions=1"):
        run_cell(cell_of("dense"), store=store, questions=asked, question_vectors=np.zeros((2, 2), np.float32))
    with pytest.raises(UsageError, match="questions=2 repeat a question_id"):
        run_cell(cell_of("lexical"), store=store, questions=pa.concat_tables([asked, asked]))
    elsewhere = rows_of(QUESTIONS, [{"conversation_id": "w", "question_id": "q0"}])
    with pytest.raises(UsageError, match="several conversations"):
        run_cell(cell_of("lexical"), store=store, questions=elsewhere)
    with pytest.raises(NotFoundError, match="tokeniser='bpe' does not exist"):
        run_cell(cell_of("lexical", tokeniser="bpe"), store=store, questions=asked)


def test_weights_are_those_of_the_plan():
    plan = parse_plan(
        "p",
        [
            {"step": "seed_dense"},
            {"step": "seed_lexical"},
            {"step": "fuse_weighted", "dense": 0, "lexical": 1},
            {"step": "rank"},
            {"step": "pack"},
        ],
    )
    store = store_of([("a", "apple"), ("b", "pear")], [[1, 0], [0, 1]])
    found = run_cell(
        Cell("r", "c", plan, "chars4", Cutoffs()),
        store=store,
        questions=questions_of("pear"),
        question_vectors=np.float32([[1, 0]]),
    )
    assert [row["score"] for row in found.retrievals.to_pylist()] == [1.0, 0.0]


def test_the_candidate_list_holds_every_candidate_up_to_the_depth_whatever_is_packed():
    store = store_of([(name, name * 8) for name in "abcdef"])
    steps = [{"step": "seed_random"}, {"step": "rank", "candidates": 5}, {"step": "pack", "most": 1}]
    cutoffs = Cutoffs(tokens=(100,), k=(3, 4), candidates=4)
    for depth, candidates in ((4, 4), (50, 5)):
        cell = Cell("r", "c1", parse_plan("p", steps), "chars4", replace(cutoffs, candidates=depth), depth)
        found = run_cell(cell, store=store, questions=questions_of("?"))
        rows = {(row["cutoff_kind"], row["cutoff"]): row for row in found.contexts.to_pylist()}
        assert {at: row["units"] for at, row in rows.items()} == {
            ("tokens", 100): 1, ("k", 3): 1, ("k", 4): 1, ("candidates", depth): candidates,
        }  # fmt: skip
        listed = rows["candidates", depth]
        assert (len(listed["content_tokens"]), listed["text"]) == (candidates, None)
        assert len(ranked(found)) == candidates
