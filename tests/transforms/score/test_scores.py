"""Every metric by hand: three units in rank order, five questions, and what each of them must come to."""

import json
from math import log2

import pyarrow as pa
import pytest
from small_tables import connection_of, rows_of

from memlake.schemas import CELLS, CONTEXTS, EVIDENCE, PROVENANCE, QUESTIONS, RETRIEVALS, SCORES, UNITS
from memlake.schemas.metrics import METRICS
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.retrieve.store.store import UNIT_TOKENS
from memlake.transforms.score.scores import evaluate, summary

# Turns 0 to 3 are 10 characters each. u1 touches turn 0 and, by its line break only, turn 1; u2 turns 1 and 2; u3 turn 0.
PIECES = {
    "u1": [(0, 0, 10, True), (1, 10, 11, False)],
    "u2": [(1, 15, 20, True), (2, 20, 30, True)],
    "u3": [(0, 5, 10, True)],
}
SHOWN = {0: [], 1: ["red"], 2: ["blue", "red"], 3: ["blue", "car", "red"]}


def question(name, tokens=(), *, label_set="official", answerable=True, category="1"):
    return {
        "question_id": name,
        "label_set": label_set,
        "answer_tokens": list(tokens),
        "answerable": answerable,
        "category": category,
    }


def gold(name, *turns, label_set="official"):
    """Evidence rows; a turn of None is dangling, a second time the same turn is a duplicate."""
    return [
        {
            "question_id": name,
            "label_set": label_set,
            "position": place,
            "turn_id": None if turn is None else f"t{turn}",
            "ordinal": turn,
            "status": "dangling" if turn is None else "duplicate" if turn in turns[:place] else "valid",
        }
        for place, turn in enumerate(turns)
    ]


def tables_of(
    questions, evidence, *, cutoffs, ranked=("u1", "u2", "u3"), representation="notes", pieces=PIECES, plan=()
):
    """A run 'r' with one cell in which every question got the same ranked list; cutoffs are (kind, cutoff, units)."""
    names = list(dict.fromkeys(row["question_id"] for row in questions))
    at = {"run_id": "r", "cell": "c1"}
    return {
        "cells": rows_of(CELLS, [{**at, "corpus": "c", "representations": [representation], "plan": json.dumps(plan)}]),
        "questions": rows_of(QUESTIONS, questions),
        "evidence": rows_of(EVIDENCE, evidence),
        "provenance": rows_of(
            PROVENANCE,
            [
                {
                    "representation": representation,
                    "unit_id": unit,
                    "piece": piece,
                    "turn_id": f"t{ordinal}",
                    "ordinal": ordinal,
                    "char_start": start,
                    "char_end": end,
                    "touches_text": touches,
                }
                for unit, of_unit in pieces.items()
                for piece, (ordinal, start, end, touches) in enumerate(of_unit)
            ],
        ),
        "retrievals": rows_of(
            RETRIEVALS,
            [
                {**at, "question_id": name, "rank": rank, "representation": representation, "unit_id": unit}
                for name in names
                for rank, unit in enumerate(ranked, 1)
            ],
        ),
        "contexts": rows_of(
            CONTEXTS,
            [
                {
                    **at,
                    "question_id": name,
                    "cutoff_kind": kind,
                    "cutoff": cutoff,
                    "units": units,
                    "content_tokens": SHOWN[units],
                }
                for name in names
                for kind, cutoff, units in cutoffs
            ],
        ),
    }


def unit_tokens(*tokens, representation="notes"):
    rows = [
        {"corpus": "c", "representation": representation, "conversation_id": "v", "token": token} for token in tokens
    ]
    return pa.Table.from_pylist(rows, schema=UNIT_TOKENS)


def scored(tables, *, kept=()):
    """(value, reason) by question, metric, cutoff kind and cutoff; by label set too where there are several."""
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=unit_tokens(*kept)).scores
    assert scores.schema == SCORES.schema
    assert len(scores.group_by(list(SCORES.key)).aggregate([])) == len(scores)
    sets = set(scores["label_set"].to_pylist())
    found = {}
    for row in scores.to_pylist():
        key = (row["question_id"], row["metric"], row["cutoff_kind"], row["cutoff"])
        found[(*key, row["label_set"]) if len(sets) > 1 else key] = (row["value"], row["reason"])
    return found


def recall(found, name, kind, cutoff, *rest):
    return [found[name, f"evidence_recall_{part}", kind, cutoff, *rest][0] for part in ("any", "all", "fraction")]


def test_recall_counts_gold_turns_whose_text_a_shown_unit_touches():
    found = scored(
        tables_of(
            [question("q")],
            gold("q", 0, 1, 3),
            cutoffs=[("k", 1, 1), ("k", 2, 2), ("tokens", 500, 3), ("tokens", 1, 0)],
        )
    )
    # u1 touches only the line break of turn 1, and nothing touches turn 3.
    assert recall(found, "q", "k", 1) == [1.0, 0.0, pytest.approx(1 / 3)]
    assert recall(found, "q", "k", 2) == [1.0, 0.0, pytest.approx(2 / 3)]
    assert recall(found, "q", "tokens", 500) == [1.0, 0.0, pytest.approx(2 / 3)]
    assert recall(found, "q", "tokens", 1) == [0.0, 0.0, 0.0]


def test_dangling_evidence_leaves_the_denominator_and_a_repeated_turn_counts_once():
    found = scored(tables_of([question("q")], gold("q", 0, None, 0), cutoffs=[("k", 1, 1)]))
    assert recall(found, "q", "k", 1) == [1.0, 1.0, 1.0]


def test_normalised_evidence_is_gold():
    evidence = [{**gold("q", 0)[0], "status": "normalised", "raw_id": "D1:01"}]
    assert recall(scored(tables_of([question("q")], evidence, cutoffs=[("k", 1, 1)])), "q", "k", 1) == [1.0, 1.0, 1.0]


def test_without_valid_evidence_there_is_no_value_but_a_reason():
    found = scored(tables_of([question("q"), question("p")], gold("q", None), cutoffs=[("k", 1, 1)]))
    for name in ("q", "p"):
        for metric in ("evidence_recall_any", "evidence_recall_fraction", "evidence_precision", "mrr", "ndcg"):
            assert found[name, metric, "k", 1] == (None, "no_valid_evidence")


def test_mrr_and_ndcg_by_hand():
    # Turn 1 is touched by u2 alone (rank 2); turns 0 and 1 by u1, u2, u3 (all three).
    found = scored(
        tables_of(
            [question("one"), question("all")],
            [*gold("one", 1), *gold("all", 0, 1)],
            cutoffs=[("k", 1, 1), ("k", 3, 3)],
        )
    )
    assert found["one", "mrr", "k", 1] == (0.0, None)
    assert found["one", "mrr", "k", 3] == (0.5, None)
    assert found["one", "ndcg", "k", 1] == (0.0, None)
    assert found["one", "ndcg", "k", 3][0] == pytest.approx((1 / log2(3)) / 1)
    assert found["all", "ndcg", "k", 1] == (1.0, None)
    assert found["all", "ndcg", "k", 3][0] == pytest.approx(1.0)
    assert not any(metric in ("mrr", "ndcg") and kind != "k" for _, metric, kind, _ in found)


def test_the_ideal_of_ndcg_holds_units_that_were_not_retrieved():
    found = scored(tables_of([question("q")], gold("q", 0), ranked=("u2", "u1"), cutoffs=[("k", 2, 2)]))
    assert found["q", "ndcg", "k", 2][0] == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))


def test_gold_that_no_unit_holds_scores_zero_not_null():
    found = scored(tables_of([question("q")], gold("q", 3), cutoffs=[("k", 3, 3)]))
    for metric in ("evidence_recall_any", "evidence_precision", "mrr", "ndcg"):
        assert found["q", metric, "k", 3] == (0.0, None)


def test_precision_is_the_share_of_source_characters_that_lie_in_gold_turns():
    found = scored(
        tables_of([question("q")], gold("q", 1), cutoffs=[("k", 1, 1), ("k", 2, 2), ("k", 3, 3), ("tokens", 1, 0)])
    )
    # u1 shows 11 characters, 1 of turn 1; u2 shows 15, 5 of turn 1; u3 shows 5, none.
    assert found["q", "evidence_precision", "k", 1][0] == pytest.approx(1 / 11)
    assert found["q", "evidence_precision", "k", 2][0] == pytest.approx(6 / 26)
    assert found["q", "evidence_precision", "k", 3][0] == pytest.approx(6 / 31)
    assert found["q", "evidence_precision", "tokens", 1] == (0.0, None)


def test_precision_needs_to_know_where_every_shown_unit_came_from():
    pieces = {**PIECES, "u2": [(1, None, None, True)]}
    tables = tables_of([question("q")], gold("q", 0), pieces=pieces, cutoffs=[("k", 1, 1), ("k", 2, 2), ("k", 3, 3)])
    found = scored(tables)
    assert found["q", "evidence_precision", "k", 1][0] == pytest.approx(10 / 11)
    assert found["q", "evidence_precision", "k", 2] == (None, "no_offsets")
    assert found["q", "evidence_precision", "k", 3] == (None, "no_offsets")
    without = scored({**tables, "provenance": tables["provenance"].filter(pa.compute.field("unit_id") != "u2")})
    assert without["q", "evidence_precision", "k", 2] == (None, "no_offsets")


def stored_units(*names, representation="notes"):
    return rows_of(UNITS, [{"unit_id": name, "representation": representation} for name in names])


def test_precision_of_nothing_is_zero_only_where_a_unit_could_have_had_any():
    cutoffs = [("k", 1, 1), ("tokens", 1, 0)]
    placed = tables_of([question("q")], gold("q", 0), cutoffs=cutoffs) | {"units": stored_units(*PIECES)}
    assert scored(placed)["q", "evidence_precision", "tokens", 1] == (0.0, None)
    nowhere = {unit: [(ordinal, None, None, True) for ordinal, *_ in pieces] for unit, pieces in PIECES.items()}
    unplaced = tables_of([question("q")], gold("q", 0), cutoffs=cutoffs, pieces=nowhere)
    for tables in (unplaced, unplaced | {"provenance": PROVENANCE.empty()}):
        found = scored(tables | {"units": stored_units(*PIECES)})
        assert found["q", "evidence_precision", "tokens", 1] == (None, "no_offsets")
        assert found["q", "evidence_precision", "k", 1] == (None, "no_offsets")
    elsewhere = stored_units(*PIECES, representation="facts")
    assert scored(placed | {"units": elsewhere})["q", "evidence_precision", "tokens", 1] == (0.0, None)


SHOW, MERGE, PROJECT = ({"step": "show", "header": True, "text": "show"}, {"step": "merge"}, {"step": "project"})
RERANK = {"step": "rerank", "text": "key"}


@pytest.mark.parametrize(
    ("steps", "precision", "recall_too"),
    [
        ([SHOW], None, None),
        ([SHOW | {"header": False}], None, None),
        ([RERANK, SHOW], None, None),
        ([SHOW | {"text": "key"}], "reshaped", "reshaped"),
        ([SHOW | {"text": "quote"}], "reshaped", "reshaped"),
        ([MERGE], "reshaped", None),
        ([PROJECT], "reshaped", None),
    ],
)
def test_what_a_plan_shows_in_place_of_units_has_no_precision_and_no_recall_where_turns_may_be_gone(
    steps, precision, recall_too
):
    asked = [question("q", ["red"]), question("bare")]
    plan = [{"step": "seed_lexical"}, *steps, {"step": "pack"}]
    found = scored(tables_of(asked, gold("q", 0), cutoffs=[("k", 1, 1), ("tokens", 5, 0)], plan=plan))
    for kind, cutoff in (("k", 1), ("tokens", 5)):
        assert found["q", "evidence_precision", kind, cutoff][1] == precision
        assert found["bare", "evidence_precision", kind, cutoff] == (None, "no_valid_evidence")
        for part in ("any", "all", "fraction"):
            assert found["q", f"evidence_recall_{part}", kind, cutoff][1] == recall_too
        assert found["q", "answer_survival_all", kind, cutoff][1] is None
    # They are of the ranked list, whatever is shown of it.
    assert found["q", "mrr", "k", 1] == (1.0, None)


def test_rank_metrics_are_of_the_units_that_a_context_holds():
    # A plan may pack fewer than k, or none.
    found = scored(tables_of([question("q")], gold("q", 0), cutoffs=[("k", 1, 0), ("k", 3, 1), ("k", 4, 3)]))
    assert [found["q", metric, "k", 1] for metric in ("mrr", "ndcg")] == [(0.0, None)] * 2
    assert found["q", "ndcg", "k", 3][0] == pytest.approx(1 / (1 + 1 / log2(3)))
    assert found["q", "ndcg", "k", 4][0] == pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3)))


def test_the_candidate_list_has_no_score():
    asked = [question("q", ["red"])]
    plain = tables_of(asked, gold("q", 0), cutoffs=[("k", 3, 3), ("tokens", 5, 1)])
    listed = tables_of(asked, gold("q", 0), cutoffs=[("k", 3, 3), ("tokens", 5, 1), ("candidates", 3, 3)])
    assert scored(listed) == scored(plain)


def in_corpus(tables, name):
    return {
        key: table.set_column(
            table.schema.get_field_index("corpus"), table.schema.field("corpus"), pa.array([name] * len(table))
        )
        for key, table in tables.items()
    }


def test_the_same_names_in_two_corpora_are_scored_apart():
    cutoffs = [("k", 3, 3), ("tokens", 1, 0)]
    here = tables_of([question("q", ["red"])], gold("q", 0), cutoffs=cutoffs) | {"units": stored_units(*PIECES)}
    nowhere = {unit: [(ordinal, None, None, True) for ordinal, *_ in pieces] for unit, pieces in PIECES.items()}
    there = tables_of([question("q", ["red"])], gold("q", 2), cutoffs=cutoffs, pieces=nowhere) | {
        "units": stored_units(*PIECES)
    }
    there = in_corpus(there, "d")
    tables = {name: pa.concat_tables([here[name], there[name]]) for name in here}
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=unit_tokens("red")).scores.to_pylist()
    found = {(row["corpus"], row["metric"], row["cutoff_kind"]): (row["value"], row["reason"]) for row in scores}
    assert len(found) == len(scores)
    assert found["c", "evidence_precision", "tokens"] == (0.0, None)
    assert found["d", "evidence_precision", "tokens"] == (None, "no_offsets")
    assert (found["c", "mrr", "k"], found["d", "mrr", "k"]) == ((1.0, None), (0.5, None))
    assert found["c", "ndcg", "k"][0] == pytest.approx((1 + 0.5) / (1 + 1 / log2(3)))
    assert found["d", "ndcg", "k"][0] == pytest.approx(1 / log2(3))
    assert (found["c", "store_survival_all", "none"], found["d", "store_survival_all", "none"]) == (
        (1.0, None),
        (0.0, None),
    )


def test_survival_is_the_share_of_answer_tokens_that_the_context_holds():
    found = scored(
        tables_of(
            [question("both", ["blue", "red"]), question("one", ["green", "red"])],
            [],
            cutoffs=[("tokens", 500, 2), ("tokens", 100, 1), ("tokens", 1, 0)],
        ),
        kept=["blue", "red", "car"],
    )
    assert found["both", "answer_survival_share", "tokens", 500] == (1.0, None)
    assert found["both", "answer_survival_all", "tokens", 500] == (1.0, None)
    assert found["both", "answer_survival_share", "tokens", 100] == (0.5, None)
    assert found["both", "answer_survival_all", "tokens", 100] == (0.0, None)
    assert found["both", "answer_survival_share", "tokens", 1] == (0.0, None)
    assert found["both", "store_survival_all", "none", 0] == (1.0, None)
    assert found["one", "store_survival_share", "none", 0] == (0.5, None)
    assert found["one", "store_survival_all", "none", 0] == (0.0, None)


def test_the_store_is_that_of_the_cells_own_representations_and_conversation():
    tables = tables_of([question("q", ["red", "blue"])], [], cutoffs=[("k", 1, 1)])
    rows = [
        ("c", "notes", "v", "red"),
        ("c", "facts", "v", "blue"),
        ("c", "facts", "v", "red"),
        ("c", "notes", "w", "blue"),
        ("d", "notes", "v", "blue"),
    ]
    tokens = pa.Table.from_pylist([dict(zip(UNIT_TOKENS.names, row, strict=True)) for row in rows], schema=UNIT_TOKENS)
    both = tables["cells"].to_pylist()[0] | {"cell": "both", "representations": ["notes", "facts"]}
    contexts = [*tables["contexts"].to_pylist(), tables["contexts"].to_pylist()[0] | {"cell": "both"}]
    tables |= {
        "cells": CELLS.rows([*tables["cells"].to_pylist(), both]),
        "contexts": CONTEXTS.rows(contexts),
    }
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=tokens).scores.to_pylist()
    shares = {row["cell"]: row["value"] for row in scores if row["metric"] == "store_survival_share"}
    # Both representations keep one of the two words, which counts once.
    assert shares == {"c1": 0.5, "both": 1.0}


def test_a_cell_is_what_it_searches_in_each_corpus():
    tables = tables_of([question("q", ["red"])], gold("q", 0), cutoffs=[("k", 3, 3)])
    there = in_corpus(tables, "d")
    others = [
        row | {"representation": "facts", "unit_id": f"f{row['unit_id']}"} for row in tables["provenance"].to_pylist()
    ]
    tables = {name: pa.concat_tables([tables[name], there[name]]) for name in tables}
    tables["provenance"] = pa.concat_tables([tables["provenance"], PROVENANCE.rows(others)])
    cells = [
        row | ({"representations": ["facts"]} if row["corpus"] == "d" else {}) for row in tables["cells"].to_pylist()
    ]
    tables["cells"] = CELLS.rows(cells)
    kept = unit_tokens("red", representation="facts")
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=kept).scores.to_pylist()
    found = {(row["corpus"], row["metric"]): row["value"] for row in scores}
    assert (found["c", "store_survival_all"], found["c", "ndcg"]) == (0.0, pytest.approx(1.5 / (1 + 1 / log2(3))))


def test_an_unanswerable_question_and_an_answer_without_words_have_no_survival():
    asked = [question("never", ["red"], answerable=False), question("blank"), question("neither", answerable=False)]
    found = scored(tables_of(asked, [], cutoffs=[("k", 1, 1)]), kept=["red"])
    for metric, kind, cutoff in (("answer_survival_all", "k", 1), ("store_survival_share", "none", 0)):
        assert found["never", metric, kind, cutoff] == (None, "unanswerable")
        assert found["blank", metric, kind, cutoff] == (None, "no_content_tokens")
        assert found["neither", metric, kind, cutoff] == (None, "unanswerable")


def test_each_label_set_is_scored_on_its_own():
    asked = [question("q", ["red"]), question("q", ["pink"], label_set="corrected")]
    evidence = [*gold("q", 0), *gold("q", 1, label_set="corrected")]
    tables = tables_of(asked, evidence, cutoffs=[("k", 1, 1)])
    found = scored(tables)
    assert recall(found, "q", "k", 1, "official") == [1.0, 1.0, 1.0]
    assert recall(found, "q", "k", 1, "corrected") == [0.0, 0.0, 0.0]
    assert found["q", "answer_survival_all", "k", 1, "official"] == (1.0, None)
    assert found["q", "answer_survival_all", "k", 1, "corrected"] == (0.0, None)


def test_every_score_records_the_category_that_its_label_set_gives_the_question():
    asked = [question("q", ["red"], category="1"), question("q", ["red"], label_set="corrected", category="2")]
    tables = tables_of(asked, gold("q", 0), cutoffs=[("k", 1, 1), ("tokens", 500, 2)])
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=unit_tokens("red")).scores
    found = {(row["metric"], row["label_set"]): row["category"] for row in scores.to_pylist()}
    assert {metric for metric, _ in found} == {
        card.name for card in METRICS.values() if card.of in ("store", "context")
    }
    assert all(category == {"official": "1", "corrected": "2"}[label_set] for (_, label_set), category in found.items())


def test_another_run_of_the_same_questions_is_left_out():
    tables = tables_of([question("q", ["red"])], gold("q", 0), cutoffs=[("k", 1, 1)])
    other = [row | {"run_id": "other"} for row in tables["contexts"].to_pylist()]
    tables["contexts"] = pa.concat_tables([tables["contexts"], CONTEXTS.rows(other)])
    found = scored(tables)
    assert recall(found, "q", "k", 1) == [1.0, 1.0, 1.0]


def test_every_mean_has_its_n_and_what_it_excludes_by_reason():
    asked = [question("a", ["red"]), question("b", ["green"]), question("c", ["red"], answerable=False, category="5")]
    tables = tables_of(asked, gold("a", 0), cutoffs=[("tokens", 500, 1)])
    with connection_of(**tables) as connection:
        connection.register("scores", evaluate(connection, "r", unit_tokens=unit_tokens("red")).scores)
        # Whatever becomes of the questions: what was scored stands as it was scored.
        connection.register("questions", rows_of(QUESTIONS, [question("a", category="9")]))
        means = {
            (row["metric"], row["cutoff_kind"], row["category"]): row for row in summary(connection, "r").to_pylist()
        }
    survival = means["answer_survival_all", "tokens", None]
    assert (survival["mean"], survival["n"], survival["excluded"]) == (0.5, 2, 1)
    assert dict(survival["reasons"]) == {"unanswerable": 1}
    assert means["answer_survival_all", "tokens", "5"]["mean"] is None
    assert means["answer_survival_all", "tokens", "5"]["n"] == 0
    assert dict(means["evidence_recall_any", "tokens", None]["reasons"]) == {"no_valid_evidence": 2}
    assert means["store_survival_share", "none", "1"]["n"] == 2


def test_a_run_without_cells_is_refused():
    with connection_of() as connection, pytest.raises(NotFoundError, match="run_id='r' has no cells"):
        evaluate(connection, "r", unit_tokens=unit_tokens())


def test_a_run_id_is_a_value_and_never_sql():
    with connection_of() as connection, pytest.raises(NotFoundError, match="has no cells"):
        evaluate(connection, "'; drop view gold_turns; --", unit_tokens=unit_tokens())
