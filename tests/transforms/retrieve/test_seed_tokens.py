"""Token weights and token vectors as scores: against plain loops, and the same bits however they are cut."""

import numpy as np
import pyarrow as pa
import pytest
from small_tables import rows_of

from memlake.schemas import QUESTIONS, UNITS
from memlake.schemas.vectors import vectors_schema
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.embedder import Encoded, Failure, ragged
from memlake.transforms.embed.outputs import as_outputs, outputs_of
from memlake.transforms.retrieve.cell import Cell, run_cell
from memlake.transforms.retrieve.plan import parse_plan
from memlake.transforms.retrieve.steps import seed_tokens
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.retrieve.store.store import align_vectors, open_store

DIMENSION = 6


def made(rng: np.random.Generator, texts: int, *, failed: tuple[int, ...] = ()) -> Encoded:
    sparse, multi = [], []
    for _ in range(texts):
        ids = np.unique(rng.integers(0, 40, rng.integers(0, 12))).astype(np.int32)
        sparse.append((ids, rng.random(len(ids)).astype(np.float32)))
        vectors = rng.standard_normal((rng.integers(1, 9), DIMENSION)).astype(np.float32)
        multi.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True),))
    dense = rng.standard_normal((texts, 4)).astype(np.float32)
    return Encoded(
        dense,
        ragged(sparse, (np.empty(0, np.int32), np.empty(0, np.float32))),
        ragged(multi, (np.empty((0, DIMENSION), np.float32),)),
        failed={place: Failure("refused") for place in failed},
    )


def plain_sparse(questions: Encoded, units: Encoded) -> np.ndarray:
    """FlagEmbedding's compute_lexical_matching_score, on dictionaries."""
    of = [
        [dict(zip(*encoded.sparse.of(place), strict=True)) for place in range(len(encoded.dense))]
        for encoded in (questions, units)
    ]
    return np.array([[sum(w * unit[t] for t, w in asked.items() if t in unit) for unit in of[1]] for asked in of[0]])


def plain_multi(questions: Encoded, units: Encoded) -> np.ndarray:
    """FlagEmbedding's colbert_score, in NumPy."""
    return np.array(
        [
            [
                (questions.multi.of(asked)[0] @ units.multi.of(unit)[0].T).max(axis=1).mean()
                for unit in range(len(units.dense))
            ]
            for asked in range(len(questions.dense))
        ]
    )


def both(seed: int, questions: int = 7, units: int = 23):
    rng = np.random.default_rng(seed)
    return made(rng, questions), made(rng, units)


def test_shared_tokens_are_multiplied_and_added():
    asked, stored = both(1)
    score = seed_tokens.lexical_weights_scores(
        outputs_of(asked, ["sparse"]).sparse, outputs_of(stored, ["sparse"]).sparse
    )
    np.testing.assert_allclose(score, plain_sparse(asked, stored), rtol=0, atol=1e-6)


def test_the_best_cosine_of_each_question_token_is_averaged(monkeypatch):
    asked, stored = both(2)
    whole = seed_tokens.max_sim(asked.multi, stored.multi)
    np.testing.assert_allclose(whole, plain_multi(asked, stored), rtol=0, atol=1e-6)
    for block in (1, 100, 1000):
        monkeypatch.setattr(seed_tokens, "_BLOCK", block)
        assert seed_tokens.max_sim(asked.multi, stored.multi).tobytes() == whole.tobytes()


def test_scores_are_the_same_bits_whatever_is_asked_beside():
    asked, stored = both(3)
    for kind, score in (("sparse", seed_tokens.lexical_weights_scores), ("multi", seed_tokens.max_sim)):
        questions, units = outputs_of(asked, [kind]), outputs_of(stored, [kind])
        together = score(getattr(questions, kind), getattr(units, kind))
        order = np.random.default_rng(4).permutation(len(units))
        mixed = getattr(units.take(order), kind)
        for place in range(len(questions)):
            alone = score(getattr(questions.take(np.array([place])), kind), mixed)
            assert alone[0].tobytes() == together[place][order].tobytes()


def units_and_table(stored: Encoded, missing: int):
    """Rows of units, and of the Lance table that holds their outputs; one of them has none."""
    names = [f"u{place:02}" for place in range(len(stored.dense))]
    units = rows_of(
        UNITS, [{"unit_id": name, "representation": "r", "key_text": name, "show_text": name} for name in names]
    )
    schema = vectors_schema(
        embedder="e", model="m", revision="1", dimension=4, normalised=True, sparse=True, multi=DIMENSION
    )
    rows = [
        {
            "unit_id": name,
            "corpus": "c",
            "conversation_id": "v",
            "key_text": name,
            "vector": None if place == missing else stored.dense[place].tolist(),
            "sparse_ids": None if place == missing else stored.sparse.of(place)[0].tolist(),
            "sparse_weights": None if place == missing else stored.sparse.of(place)[1].tolist(),
            "multi": None if place == missing else stored.multi.of(place)[0].tolist(),
        }
        for place, name in enumerate(names)
    ]
    return units, pa.Table.from_pylist(rows, schema=schema)


def found(plan, asked: Encoded, stored: Encoded, *, missing: int = 5):
    units, table = units_and_table(stored, missing)
    shuffled = table.take(pa.array(np.random.default_rng(5).permutation(table.num_rows)))
    questions = rows_of(QUESTIONS, [{"question_id": f"q{place}", "text": "?"} for place in range(len(asked.dense))])
    steps = [*plan, {"step": "rank"}, {"step": "pack"}]
    return run_cell(
        Cell("run", "cell", parse_plan("p", steps), "chars4", Cutoffs(k=(3,))),
        store=open_store(units, vectors=align_vectors(units, shuffled)),
        questions=questions,
        question_vectors=outputs_of(asked, ["dense", "sparse", "multi"]),
    ).retrievals.to_pylist()


def test_a_plan_of_all_seeds_adds_what_it_is_told_and_keeps_every_part():
    asked, stored = both(6)
    plan = [{"step": "seed_dense"}, {"step": "seed_sparse"}, {"step": "seed_multi"}]
    rows = found([*plan, {"step": "fuse_weighted", "dense": 0.4, "sparse": 0.2, "multi": 0.4}], asked, stored)
    sparse, multi = plain_sparse(asked, stored), plain_multi(asked, stored)
    sparse[:, 5] = 0
    assert len(rows) == 7 * 23
    for row in rows:
        question, unit = int(row["question_id"][1:]), int(row["unit_id"][1:])
        if unit == 5:
            assert (row["dense"], row["sparse"], row["multi"], row["lexical"], row["rerank"]) == (None,) * 5
            assert row["score"] == pytest.approx(-0.8, abs=1e-6)
            continue
        share = sparse[question, unit] / max(sparse[question].max(), 1e-9)
        assert row["sparse"] == pytest.approx(sparse[question, unit], abs=1e-6)
        assert row["multi"] == pytest.approx(multi[question, unit], abs=1e-6)
        assert row["score"] == pytest.approx(0.4 * row["dense"] + 0.2 * share + 0.4 * row["multi"], abs=1e-6)


@pytest.mark.parametrize("seed", ["sparse", "multi"])
def test_one_seed_alone_ranks_a_unit_without_outputs_last_and_ties_by_id(seed):
    asked, stored = both(7)
    rows = [row for row in found([{"step": f"seed_{seed}"}], asked, stored) if row["question_id"] == "q0"]
    key = [(-row["score"], row["unit_id"]) for row in rows]
    assert key == sorted(key)
    assert next(row for row in rows if row["unit_id"] == "u05")[seed] is None
    assert min(row["score"] for row in rows) == next(row["score"] for row in rows if row["unit_id"] == "u05")


def test_ranks_are_fused_without_units_that_share_no_token():
    asked, stored = both(8)
    rows = found([{"step": "seed_sparse"}, {"step": "seed_multi"}, {"step": "fuse_rrf", "k0": 60}], asked, stored)
    without = [row for row in rows if row["sparse"] == 0 and row["multi"] is not None]
    assert without
    assert all(row["score"] <= 1 / 61 + 1e-9 for row in without)


def test_a_question_that_failed_has_no_parts_and_every_unit_ties():
    rng = np.random.default_rng(9)
    asked, stored = made(rng, 2, failed=(1,)), made(rng, 8)
    rows = [row for row in found([{"step": "seed_sparse"}], asked, stored) if row["question_id"] == "q1"]
    assert [row["sparse"] for row in rows] == [None] * 8
    assert [row["unit_id"] for row in rows] == sorted(row["unit_id"] for row in rows)


def test_texts_without_tokens_and_empty_sides_are_no_error():
    nothing = Encoded(
        np.ones((3, 2), np.float32),
        ragged(
            [(np.empty(0, np.int32), np.empty(0, np.float32))] * 3, (np.empty(0, np.int32), np.empty(0, np.float32))
        ),
        ragged([(np.empty((0, DIMENSION), np.float32),)] * 3, (np.empty((0, DIMENSION), np.float32),)),
    )
    _, stored = both(10)
    empty, full = outputs_of(nothing, ["sparse", "multi"]), outputs_of(stored, ["sparse", "multi"])
    for left, right in ((empty, full), (full, empty), (empty, empty), (full.take(np.arange(0)), full)):
        assert not seed_tokens.lexical_weights_scores(left.sparse, right.sparse).any()
        assert not seed_tokens.max_sim(left.multi, right.multi).any()


@pytest.mark.parametrize(("step", "embedder"), [("seed_sparse", "bge-m3"), ("seed_multi", "bge-m3-multi")])
def test_outputs_that_are_not_there_are_an_error_that_names_who_gives_them(step, embedder):
    asked, stored = both(11)
    units, table = units_and_table(stored, 0)
    questions = rows_of(QUESTIONS, [{"question_id": "q0", "text": "?"}])
    plan = parse_plan("p", [{"step": step}, {"step": "rank"}, {"step": "pack"}])
    with pytest.raises(UsageError, match=f"step='{step}' needs .* units have none, questions have none") as refused:
        run_cell(
            Cell("run", "cell", plan, "chars4", Cutoffs(k=(3,))),
            store=open_store(units, vectors=align_vectors(units, table.select(["unit_id", "vector"]))),
            questions=questions,
            question_vectors=as_outputs(asked.dense[:1]),
        )
    assert f"--embedder {embedder}" in refused.value.hint
