"""Verdicts, choices and abstentions as scores: what is counted, and what is left out with which reason."""

import pytest
from answered_runs import question, run_tables, said, source_tokens, unit_tokens, verdict
from small_tables import connection_of

from memlake.schemas import SCORES
from memlake.transforms.base.sql import sql_file
from memlake.transforms.score.scores import TEXT_METRICS, answer_scores, evaluate

FILES = {
    "abstained": "abstained",
    "abstention_right": "abstained",
    "multiple_choice_accuracy": "multiple_choice",
    "judge_accuracy": "judge_accuracy",
    "judge_accuracy_published": "judge_accuracy_published",
}


def scored(tables, metric, *by):
    """{key: (value, reason)} of one metric, by question unless other columns are named."""
    with connection_of(**tables) as connection:
        if metric == "judge_accuracy_published":
            connection.register("text_scores", answer_scores(connection, "r", {"c": "english"})[0])
        text = sql_file("scores", FILES[metric]).text
        scores = connection.sql(text, params={"run_id": "r"}).to_arrow_table().cast(SCORES.schema)
    assert len(scores.group_by(list(SCORES.key)).aggregate([])) == len(scores)
    found = {}
    for row in scores.to_pylist():
        if row["metric"] == metric:
            key = tuple(row[name] for name in by) if by else row["question_id"]
            assert key not in found
            found[key] = (row["value"], row["reason"])
    return found


def test_judge_accuracy_is_the_share_of_verdicts_that_came():
    verdicts = [
        verdict("q", True),
        verdict("q", False, judge_repeat=1),
        verdict("q", None, judge_repeat=2),
        verdict("p", None, reason="refused"),
        verdict("p", None, reason="cut", judge_repeat=1),
    ]
    tables = run_tables([question("q"), question("p")], [said("q", "red"), said("p", "red")], verdicts)
    assert scored(tables, "judge_accuracy") == {"q": (0.5, None), "p": (None, "refused")}


def test_each_judge_label_set_and_repeat_has_its_own_accuracy():
    asked = [question("q"), question("q", label_set="corrected", category="2")]
    verdicts = [
        verdict("q", True),
        verdict("q", False, judge="match", request_hash=None),
        verdict("q", False, label_set="corrected"),
        verdict("q", False, repeat=1),
    ]
    tables = run_tables(asked, [said("q", "red"), said("q", "red", repeat=1)], verdicts)
    found = scored(tables, "judge_accuracy", "judge", "label_set", "category", "repeat")
    assert found == {
        ("strict", "official", "4", 0): (1.0, None),
        ("match", "official", "4", 0): (0.0, None),
        ("strict", "corrected", "2", 0): (0.0, None),
        ("strict", "official", "4", 1): (0.0, None),
    }


def test_the_published_accuracy_lets_token_f1_decide_where_the_judge_failed():
    names = ("full", "half", "less", "wrong", "never")
    asked = [question(name, None if name == "never" else "red car", answerable=name != "never") for name in names]
    answers = [
        said("full", "red car"), said("half", "red bike"), said("less", "red bike there"), said("wrong", "red car"),
        said("never", "red"),
    ]  # fmt: skip
    verdicts = [*(verdict(name, None) for name in ("full", "half", "less", "never")), verdict("wrong", False)]
    tables = run_tables(asked, answers, verdicts)
    # F1 is 1, 0.5 and 0.4; a verdict that came stands whatever F1 says; without an answer there is no F1.
    assert scored(tables, "judge_accuracy_published") == {
        "full": (1.0, None),
        "half": (1.0, None),
        "less": (0.0, None),
        "wrong": (0.0, None),
        "never": (None, "unparsable_verdict"),
    }
    assert scored(tables, "judge_accuracy")["full"] == (None, "unparsable_verdict")


def test_on_longmemeval_the_published_accuracy_counts_a_failed_verdict_as_incorrect():
    tables = run_tables([question("q")], [said("q", "red car")], [verdict("q", None)], format="longmemeval")
    assert scored(tables, "judge_accuracy_published") == {"q": (0.0, None)}
    assert scored(tables, "judge_accuracy") == {"q": (None, "unparsable_verdict")}
    unanswered = [verdict("q", None, reason="no_answer")]
    tables = run_tables([question("q")], [said("q", None)], unanswered, format="longmemeval")
    assert scored(tables, "judge_accuracy_published") == {"q": (None, "no_answer")}


def test_the_published_accuracy_invents_no_answer_and_no_judge():
    tables = run_tables(
        [question("q"), question("p")],
        [said("q", None), said("p", "red car")],
        [verdict("q", None, reason="no_answer"), verdict("p", None, judge="match", request_hash=None)],
    )
    assert scored(tables, "judge_accuracy_published", "question_id", "judge") == {("q", "strict"): (None, "no_answer")}


def test_a_choice_is_right_when_it_is_the_option_that_the_labels_name():
    options = ["bike", "red car", "boat"]
    labels = {"options": options, "attributes": '{"right_option": 1}'}
    asked = [question(name, **labels) for name in ("right", "wrong", "unclear", "failed")]
    asked += [question("by_text", options=options), question("nowhere", "plane", options=options), question("open")]
    answers = [
        said("right", "B", option=1), said("wrong", "A", option=0), said("unclear", "B or C"), said("failed", None),
        said("by_text", "B", option=1), said("nowhere", "B", option=1), said("open", "red car"),
    ]  # fmt: skip
    assert scored(run_tables(asked, answers), "multiple_choice_accuracy") == {
        "right": (1.0, None),
        "wrong": (0.0, None),
        "unclear": (None, "unparsable_choice"),
        "failed": (None, "refused"),
        "by_text": (1.0, None),
        "nowhere": (None, "no_right_option"),
    }


def choices(answer, *, options=("bike", "red car", "boat"), right=1, **more):
    """Value and reason of one answer to a question of three options."""
    asked = question("q", options=list(options), attributes=f'{{"right_option": {right}}}', **more)
    return scored(run_tables([asked], [answer]), "multiple_choice_accuracy")["q"]


def test_an_answer_that_abstains_chose_nothing_which_is_wrong():
    assert choices(said("q", "no idea", abstained=True)) == (0.0, None)
    assert choices(said("q", "no idea")) == (None, "unparsable_choice")
    # An option may say that there is no answer: then it was chosen, and may be right.
    assert choices(said("q", "none", abstained=True, option=1), options=("bike", "none", "boat")) == (1.0, None)


def test_an_option_of_the_same_text_as_the_right_one_is_right():
    assert choices(said("q", "C", option=2), options=("red car", "bike", "red car"), right=0) == (1.0, None)
    assert choices(said("q", "B", option=1), options=("red car", "bike", "red car"), right=0) == (0.0, None)


@pytest.mark.parametrize("right", [3, -1, -2])
def test_a_right_option_that_is_none_of_them_is_none(right):
    assert choices(said("q", "C", option=2), right=right) == (None, "no_right_option")
    assert choices(said("q", "no idea", abstained=True), right=right) == (None, "no_right_option")


def abstaining():
    never = {"answerable": False, "category": "5"}
    asked = [question("n1", None, **never), question("n2", None, **never), question("n3", None, **never)]
    asked += [question("a1"), question("a2"), question("a3")]
    return asked, [
        said("n1", "none", abstained=True), said("n2", "red"), said("n3", None),
        said("a1", "none", abstained=True), said("a2", "red"), said("a3", "red"),
    ]  # fmt: skip


def test_abstaining_is_scored_for_every_answer_that_came():
    tables = run_tables(*abstaining())
    missing = (None, "refused")
    said_so = {"n1": (1.0, None), "n2": (0.0, None), "n3": missing, "a1": (1.0, None)}
    assert scored(tables, "abstained") == said_so | {"a2": (0.0, None), "a3": (0.0, None)}
    rightly = {"n1": (1.0, None), "n2": (0.0, None), "n3": missing, "a1": (0.0, None)}
    assert scored(tables, "abstention_right") == rightly | {"a2": (1.0, None), "a3": (1.0, None)}


def abstention_of(tables):
    with connection_of(**tables) as connection:
        text = sql_file("scores", "abstained").text
        scores = connection.sql(text, params={"run_id": "r"}).to_arrow_table().cast(SCORES.schema)
        connection.register("scores", scores)
        # What was scored stands as it was scored, whatever became of the questions.
        connection.register("questions", tables["questions"].slice(0, 0))
        (row,) = connection.sql("from abstention").to_arrow_table().to_pylist()
    return row


def test_abstention_has_precision_recall_and_f1_over_both_kinds_of_questions():
    row = abstention_of(run_tables(*abstaining()))
    assert (row["unanswerable"], row["answerable"], row["excluded"]) == (2, 3, 1)
    assert [row[f"abstention_{part}"] for part in ("precision", "recall", "f1")] == [0.5, 0.5, 0.5]


def test_abstention_without_anything_to_divide_by_is_null():
    row = abstention_of(run_tables([question("q")], [said("q", "red")]))
    assert [row[f"abstention_{part}"] for part in ("precision", "recall", "f1")] == [None, None, None]
    row = abstention_of(run_tables([question("q")], [said("q", "none", abstained=True)]))
    assert [row[f"abstention_{part}"] for part in ("precision", "recall", "f1")] == [0.0, None, 0.0]


@pytest.mark.parametrize("metric", ["abstained", "multiple_choice_accuracy", "judge_accuracy"])
def test_rows_of_another_run_are_left_out(metric):
    asked = [question("q", options=["red car"])]
    other = {"run_id": "other"}
    tables = run_tables(
        asked,
        [said("q", "red", option=0), said("q", "none", abstained=True, option=0, **other)],
        [verdict("q", True), verdict("q", False, **other)],
    )
    assert scored(tables, metric) == {"q": ((0.0 if metric == "abstained" else 1.0), None)}


def test_evaluate_brings_every_family_and_its_signatures_together():
    tables = run_tables([question("q", options=["red car"])], [said("q", "red", option=0)], [verdict("q", False)])
    with connection_of(**tables) as connection:
        made = evaluate(connection, "r", unit_tokens=unit_tokens(), source_tokens=[source_tokens("red")])
        assert connection.sql("from scores").fetchall() == []
        names = {name for (name,) in connection.sql("select view_name from duckdb_views()").fetchall()}
    assert "scores" in names
    assert not names & {"unit_tokens", "text_scores", "source_tokens", "matches"}
    assert made.scores.schema == SCORES.schema
    assert len(made.scores.group_by(list(SCORES.key)).aggregate([])) == len(made.scores)
    assert {row["metric"] for row in made.scores.to_pylist()} == {*TEXT_METRICS, *FILES}
    assert [row["loss"] for row in made.losses.to_pylist()] == ["not_stored"]
    assert "bleu" in made.signatures


def test_evaluate_takes_the_language_of_a_corpus_from_its_cells():
    tables = run_tables([question("q", "running")], [said("q", "runs")], language="other")
    with connection_of(**tables) as connection:
        made = evaluate(connection, "r", unit_tokens=unit_tokens())
    assert "bleu@other" in made.signatures
    assert [row["value"] for row in made.scores.to_pylist() if row["metric"] == "token_f1"] == [0.0]
