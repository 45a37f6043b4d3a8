"""Recall, mrr and ndcg beside ir_measures (trec_eval's definitions) on random rankings."""

import numpy as np
import pytest
from small_tables import connection_of, rows_of

from schemas import CELLS, CONTEXTS, EVIDENCE, PROVENANCE, QUESTIONS, RETRIEVALS
from transforms.retrieve.store import UNIT_TOKENS
from transforms.score.evaluate import evaluate

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
                    "status": "valid",
                }
                for name, turns in gold.items()
                for place, turn in enumerate(sorted(turns))
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
                {**at, "question_id": name, "cutoff_kind": "k", "cutoff": k, "units": min(k, UNITS)}
                for name in gold
                for k in KS
            ],
        ),
    }
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=UNIT_TOKENS.empty_table()).to_pylist()
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
