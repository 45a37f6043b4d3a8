"""Costs of a run of two cells whose every call is known: chunks that no model wrote, and artifacts that one did."""

from datetime import UTC, datetime, timedelta

import pytest
from small_tables import connection_of, rows_of

from memlake.schemas import (
    ANSWERS,
    CALLS,
    CELLS,
    CONTEXTS,
    CONVERSATIONS,
    EXTRACTIONS,
    JUDGEMENTS,
    REPRESENTATIONS,
    RUNS,
    SCORES,
    STATISTICS,
    UNITS,
)
from memlake.transforms.base.sql import sql_file
from memlake.transforms.retrieve.plan import find_plan
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.score.statistics.costs import costs_of
from memlake.transforms.study.study import Measure, Study, StudyCell, StudyCorpus

START = datetime(2026, 1, 1, tzinfo=UTC)
AT = {"cutoff_kind": "tokens", "cutoff": 1000}
# By conversation and question: whether each of the two cells is judged right.
ASKED = {("v", "q0"): (1, 1), ("v", "q1"): (1, 0), ("w", "q2"): (0, 1), ("w", "q3"): (1, 0)}


def study():
    cells = tuple(StudyCell(name, (name,), find_plan("hybrid")) for name in ("chunks", "artifacts"))
    measure = Measure("judge_accuracy", "tokens", 1000, judge="j")
    return Study("s", (StudyCorpus("c"),), cells, Cutoffs(tokens=(1000,)), measure)


def call(request, run, stage, tokens_in, tokens_out, usd, *, model="m", cached=False, outcome="ok", after=0, attempt=0):
    return {
        "call_id": f"{request}{run}{cached}{after}", "attempt": attempt, "request_hash": request, "run_id": run,
        "stage": stage, "provider": "p", "model": model, "tokens_in": tokens_in, "tokens_out": tokens_out,
        "price_usd": usd, "from_cache": cached, "outcome": outcome, "logged_at": START + timedelta(seconds=after),
    }  # fmt: skip


def replayed(calls):
    """The same calls once more, of the study's run, from the cache and so without a price to pay."""
    return [row | {"call_id": f"again{row['call_id']}", "run_id": "r", "from_cache": True, "price_usd": 0.0,
                   "logged_at": START + timedelta(days=1)} for row in calls]  # fmt: skip


def reading():
    calls = []
    for place, (_, question) in enumerate(ASKED):
        calls.append(call(f"chunks{question}", "first", "answer", 1000 + place, 10, 0.002))
        calls.append(call(f"artifacts{question}", "first", "answer", 500, 10, 0.001))
        calls += [call(f"judge{cell}{question}", "first", "judge", 50, 1, 0.0001) for cell in ("chunks", "artifacts")]
    return calls


def writing():
    """Two conversations; a piece of the first was split, which no row of `extractions` tells the hash of."""
    return [
        call("piece0", "made", "extract", 900, 100, 0.010),
        call("split0", "made", "extract", 900, 100, 0.010, after=1),
        call("piece1", "made", "extract", 900, 100, 0.020, after=2),
        call("piece1", "made", "extract", None, None, None, outcome="transient", after=1),
    ]


def tables_of(calls, *, extra=(), artifacts_kind="artifacts", **more):
    common = {"run_id": "r", "corpus": "c"}
    rows = {"contexts": [], "answers": [], "judgements": [], "scores": []}
    for (conversation, question), right in ASKED.items():
        for cell, value in zip(("chunks", "artifacts"), right, strict=True):
            at = {**common, **AT, "cell": cell, "conversation_id": conversation, "question_id": question}
            rows["contexts"].append({**at, "tokens": 800, "tokeniser": "chars4"})
            rows["answers"].append({**at, "text": "x", "request_hash": f"{cell}{question}"})
            judged = {**at, "judge": "j", "label_set": "official"}
            rows["judgements"].append({**judged, "correct": bool(value), "request_hash": f"judge{cell}{question}"})
            rows["scores"].append({**judged, "metric": "judge_accuracy", "value": float(value)})
    made = {"contexts": CONTEXTS, "answers": ANSWERS, "judgements": JUDGEMENTS, "scores": SCORES}
    pieces = [("v", "piece0", 2, 1800, 200), ("w", "piece1", 1, 900, 100)]
    return {
        **{name: rows_of(made[name], given) for name, given in rows.items()},
        "calls": rows_of(CALLS, calls),
        "cells": rows_of(CELLS, [{**common, "cell": name, "representations": [name]} for name in ("chunks", "artifacts")]),
        "representations": rows_of(
            REPRESENTATIONS,
            [{"representation": "chunks", "kind": "chunks"}, {"representation": "artifacts", "kind": artifacts_kind}],
        ),
        "conversations": rows_of(CONVERSATIONS, [{"conversation_id": name} for name in "vw"]),
        "extractions": rows_of(
            EXTRACTIONS,
            [
                {"representation": "artifacts", "conversation_id": conversation, "request_hash": name, "calls": asked,
                 "tokens_in": tokens_in, "tokens_out": tokens_out}
                for conversation, name, asked, tokens_in, tokens_out in [*pieces, *extra]
            ],
        ),
        **more,
    }  # fmt: skip


def costs(tables, **more):
    with connection_of(**tables) as connection:
        table = costs_of(connection, "r", study(), **more)
    assert table.schema.equals(STATISTICS.schema)
    return {(row["statistic"], row["cell_a"]): row for row in table.to_pylist()}


@pytest.fixture(scope="module")
def found():
    return costs(tables_of([*reading(), *writing(), *replayed([*reading(), *writing()])]))


def test_reading_costs_what_it_cost_when_it_was_sent_whatever_was_replayed(found):
    row = found["usd_read_per_question", "chunks"]
    assert (row["value"], row["n"], row["clusters"], row["low"]) == (pytest.approx(0.002), 4, 2, None)
    assert found["tokens_read_per_question", "chunks"]["value"] == pytest.approx(1001.5)
    assert found["tokens_read_per_question", "chunks"]["low"] == pytest.approx(1000.5)
    assert found["tokens_out_per_question", "artifacts"]["value"] == 10
    assert found["usd_read_per_question", "artifacts"]["value"] == pytest.approx(0.001)


def test_a_thousand_correct_answers_cost_what_all_answers_cost(found):
    # Right: chunks 3 of 4, artifacts 2 of 4.
    row = found["usd_per_1000_correct", "chunks"]
    assert row["value"] == pytest.approx(1000 * 4 * 0.002 / 3)
    assert (row["judge"], row["metric"], row["label_set"]) == ("j", "judge_accuracy", "official")
    # Each conversation has two answers: .004 over 2 right ones, or over 1.
    assert (row["low"], row["high"]) == (pytest.approx(2.0), pytest.approx(4.0))
    assert found["usd_per_1000_correct", "artifacts"]["value"] == pytest.approx(1000 * 4 * 0.001 / 2)
    with_write = found["usd_per_1000_correct_with_write", "artifacts"]
    assert with_write["value"] == pytest.approx(1000 * (4 * 0.001 + 0.04) / 2)
    assert found["usd_per_1000_correct_with_write", "chunks"]["value"] == pytest.approx(row["value"])


def test_writing_has_all_that_its_run_paid_splits_among_it(found):
    assert found["usd_write", "artifacts"]["value"] == pytest.approx(0.04)
    assert found["usd_write_per_conversation", "artifacts"]["value"] == pytest.approx(0.02)
    # 2,000 of 3,000 tokens are of the first conversation.
    assert found["usd_write_per_conversation", "artifacts"]["high"] == pytest.approx(0.04 * 2 / 3)
    assert (found["tokens_write_in", "artifacts"]["value"], found["tokens_write_out", "artifacts"]["value"]) == (
        2700,
        300,
    )
    chunks = found["usd_write", "chunks"]
    assert (chunks["value"], chunks["note"].split(":")[0]) == (0.0, "no_model")
    assert found["tokens_write_in", "chunks"]["value"] is None


def test_writing_is_spread_over_the_questions_of_a_conversation(found):
    spread = {n: found[f"usd_per_question_at_{n}", "artifacts"]["value"] for n in (1, 10, 100, 1000)}
    assert spread == {n: pytest.approx(0.001 + 0.02 / n) for n in spread}
    assert found["usd_per_question_at_1", "chunks"]["value"] == pytest.approx(0.002)


def test_judging_is_apart(found):
    row = found["usd_judge_per_question", "chunks"]
    assert (row["value"], row["judge"]) == (pytest.approx(0.0001), "j")
    assert found["tokens_judge_per_question", "chunks"]["value"] == 51


def test_a_request_under_two_corpora_costs_each_of_them_its_price():
    tables = tables_of([*reading(), *writing()])
    twice = [{**row, "corpus": "d"} for row in tables["extractions"].to_pylist()]
    tables["extractions"] = EXTRACTIONS.rows([*tables["extractions"].to_pylist(), *twice])
    assert costs(tables)["usd_write", "artifacts"]["value"] == pytest.approx(0.04)


def test_a_form_of_asking_that_was_refused_is_no_price():
    refused = call("chunksq0", "first", "answer", None, None, 0.0, outcome="rejected", after=-1)
    found = costs(tables_of([refused, *reading(), *writing()]))
    assert found["usd_read_per_question", "chunks"]["value"] == pytest.approx(0.002)


def test_an_unknown_price_is_excluded_and_never_nothing():
    calls = [row | {"price_usd": None} if row["request_hash"] == "chunksq0" else row for row in reading()]
    row = costs(tables_of(calls))["usd_read_per_question", "chunks"]
    assert (row["value"], row["n"], row["excluded_a"]) == (pytest.approx(0.002), 3, 1)
    assert "price_unknown" in row["note"]


def test_what_was_only_ever_in_the_cache_has_tokens_and_no_price():
    found = costs(tables_of(replayed([*reading(), *writing()])))
    assert found["tokens_read_per_question", "chunks"]["value"] == pytest.approx(1001.5)
    for statistic in ("usd_read_per_question", "usd_per_1000_correct", "usd_per_question_at_10", "usd_write"):
        row = found[statistic, "artifacts"]
        assert (row["value"], row["low"]) == (None, None), statistic
        assert "price_unknown" in row["note"], statistic


def test_supplied_units_were_written_at_a_cost_that_nobody_knows():
    found = costs(tables_of(reading(), artifacts_kind="supplied", extractions=EXTRACTIONS.empty()))
    row = found["usd_write", "artifacts"]
    assert (row["value"], row["note"].split(":")[0]) == (None, "supplied")
    assert found["usd_per_1000_correct_with_write", "artifacts"]["value"] is None


def test_a_study_without_a_model_counts_the_evidence_that_it_shows():
    without = {"answers": ANSWERS.empty(), "judgements": JUDGEMENTS.empty(), "extractions": EXTRACTIONS.empty()}
    found = costs(tables_of([], **without))
    row = found["tokens_read_per_question", "chunks"]
    assert (row["value"], row["n"]) == (800, 4)
    assert row["note"].startswith("no_model")
    assert "chars4" in row["note"]
    dollars = found["usd_read_per_question", "chunks"]
    assert (dollars["value"], dollars["note"]) == (None, "no_model: no model was asked")


def test_no_correct_answer_has_no_price():
    tables = tables_of([*reading(), *writing()])
    wrong = [{**row, "value": 0.0} for row in tables["scores"].to_pylist()]
    row = costs(tables | {"scores": SCORES.rows(wrong)})["usd_per_1000_correct", "chunks"]
    assert (row["value"], row["low"], row["high"]) == (None, None, None)
    assert "nothing_correct" in row["note"]


def test_embedding_over_http_is_shared_by_the_characters_of_keys():
    tables = tables_of([*reading(), *writing(), call("texts", "embedding", "embed", 400, None, 0.008, model="e")])
    cells = [{**row, "embedder": "openai:e"} for row in tables["cells"].to_pylist()]
    units = [("chunks", "x" * 300), ("artifacts", "x" * 100)]
    embedded = tables | {
        "cells": CELLS.rows(cells),
        "units": rows_of(UNITS, [{"representation": name, "key_text": text} for name, text in units]),
        "runs": rows_of(
            RUNS, [{"run_id": "embedding", "event": "started", "flow": "embed", "settings": '{"corpus":"c"}'}]
        ),
    }
    found = costs(embedded)
    assert found["usd_write", "chunks"]["value"] == pytest.approx(0.006)
    assert found["usd_write", "artifacts"]["value"] == pytest.approx(0.04 + 0.002)


def test_seconds_are_of_a_cell_on_a_corpus():
    with connection_of(**tables_of([])) as connection:
        made = costs_of(connection, "r", study(), seconds={("c", "chunks"): 1.5, ("d", "chunks"): 2.0}).to_pylist()
    found = {(row["corpus"], row["cell_a"]): row["value"] for row in made if row["statistic"] == "seconds_local"}
    assert found == {("c", "chunks"): 1.5, ("d", "chunks"): 2.0}


def test_the_order_of_rows_changes_no_bit():
    tables = tables_of([*reading(), *writing()])
    turned = {name: table.take(list(range(table.num_rows))[::-1]) for name, table in tables.items()}
    assert costs(turned) == costs(tables)


def test_a_report_shows_costs_and_another_shows_the_rest():
    with connection_of(**tables_of([*reading(), *writing()])) as connection:
        made = costs_of(connection, "r", study())
        connection.register("statistics", made)
        shown = connection.sql(sql_file("reports", "study-costs").text, params={"run_id": "r"}).fetchall()
        names = dict.fromkeys(("statistic", "metric", "slice"))
        other = connection.sql(sql_file("reports", "study-statistics").text, params={"run_id": "r", **names}).fetchall()
    assert (len(shown), other) == (made.num_rows, [])


def test_a_question_without_a_verdict_is_excluded_from_both_sums_and_counted():
    tables = tables_of([*reading(), *writing()])
    scores = [
        {**row, "value": None, "reason": "unparsable_verdict"} if row["question_id"] == "q0" else row
        for row in tables["scores"].to_pylist()
    ]
    found = costs(tables | {"scores": SCORES.rows(scores)})
    # Chunks: q0 was right and is left out, with its price; of the other three two are right.
    for statistic in ("usd_per_1000_correct", "usd_per_1000_correct_with_write"):
        row = found[statistic, "chunks"]
        assert row["value"] == pytest.approx(1000 * 3 * 0.002 / 2)
        assert (row["n"], row["excluded_a"]) == (3, 1)
        assert "no_verdict" in row["note"]
    assert found["usd_read_per_question", "chunks"]["n"] == 4


def test_without_any_verdict_a_correct_answer_has_no_price():
    tables = tables_of([*reading(), *writing()])
    scores = [{**row, "value": None, "reason": "refused"} for row in tables["scores"].to_pylist()]
    row = costs(tables | {"scores": SCORES.rows(scores)})["usd_per_1000_correct", "chunks"]
    assert (row["value"], row["n"], row["excluded_a"]) == (None, 0, 4)
    assert "no_verdict" in row["note"]
    assert "nothing_correct" not in row["note"]


def test_an_answer_that_was_never_asked_for_is_excluded_as_unpriced():
    tables = tables_of([*reading(), *writing()])
    answers = [
        {**row, "request_hash": None} if row["question_id"] == "q3" else row for row in tables["answers"].to_pylist()
    ]
    row = costs(tables | {"answers": ANSWERS.rows(answers)})["usd_per_1000_correct", "chunks"]
    assert (row["n"], row["excluded_a"]) == (3, 1)
    assert "price_unknown" in row["note"]


def test_the_candidate_list_is_not_read_and_costs_nothing():
    without = {"answers": ANSWERS.empty(), "judgements": JUDGEMENTS.empty(), "extractions": EXTRACTIONS.empty()}
    tables = tables_of([], **without)
    listed = [{**row, "cutoff_kind": "candidates", "cutoff": 100} for row in tables["contexts"].to_pylist()]
    more = tables | {"contexts": CONTEXTS.rows([*tables["contexts"].to_pylist(), *listed])}
    with connection_of(**more) as connection, connection_of(**tables) as without_list:
        assert costs_of(connection, "r", study()).equals(costs_of(without_list, "r", study()))
