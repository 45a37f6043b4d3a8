"""Means of scores: a question counts once however often it was answered, and corpora are kept apart."""

from small_tables import connection_of, rows_of

from memlake.schemas import SCORES


def score(question, value, **more):
    row = {"run_id": "r", "cell": "c1", "question_id": question, "cutoff_kind": "tokens", "cutoff": 500}
    reason = None if value is not None else "refused"
    return (
        row | {"metric": "token_f1", "label_set": "official", "category": "1", "value": value, "reason": reason} | more
    )


def means(*rows, view="score_means"):
    with connection_of(scores=rows_of(SCORES, list(rows))) as connection:
        return connection.sql(f"from {view}").to_arrow_table().to_pylist()


def overall(*rows):
    return {row["corpus"]: row for row in means(*rows) if row["category"] is None}


def test_repeats_are_averaged_before_questions_are():
    rows = [score("a", 1.0), score("a", 0.0, repeat=1), score("a", None, repeat=2), score("b", 0.0)]
    row = overall(*rows)["c"]
    assert (row["mean"], row["n"], row["excluded"], row["reasons"]) == (0.25, 2, 0, None)


def test_a_question_without_any_scored_repeat_is_excluded_once_by_its_first_reason():
    rows = [score("a", None, repeat=1, reason="cut"), score("a", None), score("b", 1.0)]
    row = overall(*rows)["c"]
    assert (row["mean"], row["n"], row["excluded"], dict(row["reasons"])) == (1.0, 1, 1, {"refused": 1})


def test_corpora_are_never_averaged_together():
    rows = [score("a", 1.0), score("a", 0.0, corpus="d"), score("b", 0.0, corpus="d")]
    found = overall(*rows)
    assert [(found[name]["mean"], found[name]["n"]) for name in ("c", "d")] == [(1.0, 1), (0.0, 2)]


def test_metrics_of_an_answer_stand_side_by_side_for_each_repeat_and_judge():
    rows = [
        score("a", 0.5),
        score("a", 40.0, metric="bleu"),
        score("a", 0.0, repeat=1),
        score("a", 1.0, metric="judge_accuracy", judge="strict"),
    ]
    found = {(row["repeat"], row["judge"]): row for row in means(*rows, view="question_scores")}
    assert len(found) == 3
    assert (found[0, ""]["token_f1"], found[0, ""]["bleu"], found[0, ""]["judge_accuracy"]) == (0.5, 40.0, None)
    assert (found[1, ""]["token_f1"], found[1, ""]["bleu"]) == (0.0, None)
    assert found[0, "strict"]["judge_accuracy"] == 1.0
