"""Recall, mrr and ndcg beside ir_measures (trec_eval's definitions) on random rankings."""

import numpy as np
import pytest
from small_tables import connection_of, rows_of

from memlake.schemas import CELLS, CONTEXTS, EVIDENCE, PROVENANCE, QUESTIONS, RETRIEVALS
from memlake.transforms.retrieve.store.store import UNIT_TOKENS
from memlake.transforms.score.scores import evaluate

ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed: pip install ir-measures")

UNITS, TURNS, QUESTIONS_ASKED, KS = 30, 40, 25, (1, 3, 10, 40)


def draw(turns_of_unit):
    """Random gold turns, rankings and relevant units, for units that touch the given turns."""
    generator = np.random.default_rng(11)
    gold = {
        f"q{n}": set(generator.choice(TURNS, generator.integers(1, 6), replace=False).tolist())
        for n in range(QUESTIONS_ASKED)
    }
    ranked = {name: [f"u{unit}" for unit in generator.permutation(UNITS)] for name in gold}
    relevant = {
        name: [unit for unit, turns in turns_of_unit.items() if gold_turns & set(turns)]
        for name, gold_turns in gold.items()
    }
    return gold, ranked, relevant


def ours(turns_of_unit, gold, ranked):
    at = {"run_id": "r", "cell": "c1"}
    tables = {
        "cells": rows_of(CELLS, [{**at, "corpus": "c", "representations": ["notes"]}]),
        "questions": rows_of(QUESTIONS, [{"question_id": name, "label_set": "official"} for name in gold]),
        "evidence": rows_of(
            EVIDENCE,
            [
                {
                    "question_id": name,
                    "label_set": "official",
                    "position": place,
                    "turn_id": f"t{turn}",
                    "ordinal": turn,
                    "status": "duplicate" if turn in listed[:place] else "valid",
                }
                for name, turns in gold.items()
                for listed in [sorted(turns)]
                for place, turn in enumerate(listed)
            ],
        ),
        "provenance": rows_of(
            PROVENANCE,
            [
                {
                    "representation": "notes",
                    "unit_id": unit,
                    "piece": piece,
                    "turn_id": f"t{turn}",
                    "ordinal": turn,
                    "touches_text": True,
                }
                for unit, turns in turns_of_unit.items()
                for piece, turn in enumerate(turns)
            ],
        ),
        "retrievals": rows_of(
            RETRIEVALS,
            [
                {**at, "question_id": name, "rank": rank, "representation": "notes", "unit_id": unit}
                for name, units in ranked.items()
                for rank, unit in enumerate(units, 1)
            ],
        ),
        "contexts": rows_of(
            CONTEXTS,
            [
                {**at, "question_id": name, "cutoff_kind": "k", "cutoff": k, "units": min(k, len(ranked[name]))}
                for name in gold
                for k in KS
            ],
        ),
    }
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=UNIT_TOKENS.empty_table()).scores.to_pylist()
    return {(row["question_id"], row["metric"], row["cutoff"]): row["value"] for row in scores}


def theirs(relevant, ranked, measures):
    judged = [ir_measures.Qrel(name, unit, 1) for name, units in relevant.items() for unit in units]
    run = [
        ir_measures.ScoredDoc(name, unit, -float(rank))
        for name, units in ranked.items()
        for rank, unit in enumerate(units)
    ]
    return {(row.query_id, str(row.measure)): row.value for row in ir_measures.iter_calc(measures, judged, run)}


def compare(turns_of_unit, pairs):
    gold, ranked, relevant = draw(turns_of_unit)
    mine = ours(turns_of_unit, gold, ranked)
    measures = [measure @ k for measure in pairs.values() for k in KS]
    reference = theirs(relevant, ranked, measures)
    compared = 0
    for metric, measure in pairs.items():
        for k in KS:
            for name in gold:
                expected = reference.get((name, str(measure @ k)), 0.0) if relevant[name] else 0.0
                assert mine[name, metric, k] == pytest.approx(expected, abs=1e-9), (metric, name, k)
                compared += 1
    assert compared == len(pairs) * len(KS) * QUESTIONS_ASKED


def test_ndcg_and_mrr_are_those_of_trec_eval_for_units_of_several_turns():
    generator = np.random.default_rng(5)
    turns_of_unit = {f"u{n}": sorted(generator.choice(TURNS, 3, replace=False).tolist()) for n in range(UNITS)}
    compare(turns_of_unit, {"ndcg": ir_measures.nDCG, "mrr": ir_measures.RR})


def test_recall_is_that_of_trec_eval_where_a_unit_is_a_turn():
    turns_of_unit = {f"u{n}": [n] for n in range(UNITS)}
    gold, ranked, relevant = draw(turns_of_unit)
    # Only turns that are units, so that both count the same denominator.
    gold = {name: stored for name, turns in gold.items() if (stored := {turn for turn in turns if turn < UNITS})}
    mine = ours(turns_of_unit, gold, ranked)
    reference = theirs(relevant, ranked, [measure @ k for measure in (ir_measures.R, ir_measures.Success) for k in KS])
    for name in gold:
        for k in KS:
            assert mine[name, "evidence_recall_fraction", k] == pytest.approx(reference[name, f"R@{k}"], abs=1e-9)
            assert mine[name, "evidence_recall_any", k] == reference[name, f"Success@{k}"]


def test_short_lists_repeated_ids_untouched_turns_and_no_gold_are_those_of_trec_eval():
    generator = np.random.default_rng(23)
    # A unit is a turn, and only even turns have one: the gold of an odd turn can never be found, and counts.
    turns_of_unit = {f"u{turn:02}": [turn] for turn in range(0, TURNS, 2)}
    gold, ranked = {}, {}
    for number in range(120):
        turns = generator.choice(TURNS, generator.integers(0, 7), replace=True).tolist()
        gold[f"q{number}"] = turns + turns[: generator.integers(0, 2)]
        kept = generator.permutation(list(turns_of_unit))[: generator.integers(0, len(turns_of_unit) + 1)]
        ranked[f"q{number}"] = kept.tolist()
    assert any(not turns for turns in gold.values())
    assert any(not units for units in ranked.values())
    mine = ours(turns_of_unit, gold, ranked)
    judged = {name: [f"u{turn:02}" for turn in set(turns)] for name, turns in gold.items()}
    found = theirs(judged, ranked, [measure @ k for measure in (ir_measures.R, ir_measures.Success) for k in KS])
    stored = {name: [unit for unit in units if unit in turns_of_unit] for name, units in judged.items()}
    placed = theirs(stored, ranked, [measure @ k for measure in (ir_measures.nDCG, ir_measures.RR) for k in KS])
    for name, turns in gold.items():
        for k in KS:
            expected = {
                "evidence_recall_fraction": found.get((name, f"R@{k}"), 0.0),
                "evidence_recall_any": found.get((name, f"Success@{k}"), 0.0),
                "evidence_recall_all": float(found.get((name, f"R@{k}"), 0.0) == 1),
                "ndcg": placed.get((name, f"nDCG@{k}"), 0.0),
                "mrr": placed.get((name, f"RR@{k}"), 0.0),
            }
            for metric, value in expected.items():
                # trec_eval leaves out a question without gold; here it is a row without a value.
                want = pytest.approx(value, abs=1e-9) if turns else None
                assert mine[name, metric, k] == want, (metric, name, k)


def test_tied_scores_fall_by_unit_id_where_trec_eval_has_them_fall_the_other_way():
    generator = np.random.default_rng(31)
    names = [f"u{unit:02}" for unit in range(UNITS)]
    turned = {name: f"d{UNITS - unit:02}" for unit, name in enumerate(names)}
    gold = {f"q{n}": set(generator.choice(UNITS, 4, replace=False).tolist()) for n in range(QUESTIONS_ASKED)}
    scores = {name: dict(zip(names, generator.integers(0, 3, UNITS).tolist(), strict=True)) for name in gold}
    ranked = {name: sorted(names, key=lambda unit: (-of[unit], unit)) for name, of in scores.items()}
    mine = ours({name: [unit] for unit, name in enumerate(names)}, gold, ranked)
    judged = [ir_measures.Qrel(name, turned[f"u{turn:02}"], 1) for name, turns in gold.items() for turn in turns]
    run = [
        ir_measures.ScoredDoc(name, turned[unit], float(score))
        for name, of in scores.items()
        for unit, score in of.items()
    ]
    # RR@k is another provider's, which breaks ties as it likes; RR over the whole list is trec_eval's.
    measures = [*(measure @ k for measure in (ir_measures.nDCG, ir_measures.R) for k in KS), ir_measures.RR]
    metrics = {"nDCG": "ndcg", "RR": "mrr", "R": "evidence_recall_fraction"}
    compared = 0
    for row in ir_measures.iter_calc(measures, judged, run):
        measure, _, k = str(row.measure).partition("@")
        assert mine[row.query_id, metrics[measure], int(k or KS[-1])] == pytest.approx(row.value, abs=1e-9), row
        compared += 1
    assert compared == len(measures) * QUESTIONS_ASKED
