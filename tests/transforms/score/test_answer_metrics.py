"""Metrics of answers' texts: which label they are scored against, and why some have no value."""

import pytest
from answered_runs import question, run_tables, said
from small_tables import connection_of

from memlake.schemas import CELLS, SCORES
from memlake.transforms.score.scores import TEXT_METRICS, answer_scores


def scored(tables, language="english"):
    """{(question, metric): (value, reason)}, and the signatures."""
    with connection_of(**tables) as connection:
        scores, signatures = answer_scores(connection, "r", {"c": language})
    assert scores.schema == SCORES.schema
    assert len(scores.group_by(list(SCORES.key)).aggregate([])) == len(scores)
    found = {(row["question_id"], row["metric"]): (row["value"], row["reason"]) for row in scores.to_pylist()}
    return found, signatures


def of(name, found):
    return [found[name, metric] for metric in TEXT_METRICS]


def test_a_right_answer_scores_full_in_every_metric():
    found, _ = scored(run_tables([question("q", "the red car")], [said("q", "the red car")]))
    assert [value for value, _ in of("q", found)] == [1.0, 1.0, 1.0, pytest.approx(100), 1.0]


def test_bleu_alone_tells_upper_from_lower_case():
    found, _ = scored(run_tables([question("q", "the red car")], [said("q", "The red car")]))
    # Of three words two are right, of two pairs one; of one triple none, which smoothing counts as a half.
    assert [value for value, _ in of("q", found)] == [1.0, 1.0, 1.0, pytest.approx(100 * (1 / 6) ** (1 / 3)), 1.0]


def test_an_answer_that_the_reader_failed_to_give_has_no_value_but_its_reason():
    found, signatures = scored(run_tables([question("q")], [said("q", None), said("p", None)]))
    assert of("q", found) == [(None, "refused")] * len(TEXT_METRICS)
    assert signatures == {}
    found, _ = scored(run_tables([question("q")], [said("q", None, reason=None)]))
    assert of("q", found) == [(None, "no_answer")] * len(TEXT_METRICS)


def test_an_empty_answer_is_wrong_and_not_missing():
    found, _ = scored(run_tables([question("q")], [said("q", "")]))
    assert of("q", found) == [(0.0, None)] * len(TEXT_METRICS)


def test_the_best_of_several_accepted_answers_counts_in_each_metric():
    asked = question("q", "red car", answers=["red car", "auto"])
    found, _ = scored(run_tables([asked], [said("q", "auto")]))
    assert [value for value, _ in of("q", found)] == [1.0, 1.0, 1.0, pytest.approx(100), 1.0]


def test_rules_of_categories_hold_for_locomo_alone():
    asked, answers = [question("q", "red car, bike", category="1")], [said("q", "bike")]
    locomo, _ = scored(run_tables(asked, answers))
    other, _ = scored(run_tables(asked, answers, format="memlake"))
    assert (locomo["q", "token_f1"][0], locomo["q", "token_f1_plain"][0]) == (0.5, 0.5)
    assert other["q", "token_f1"] == other["q", "token_f1_plain"] == (0.5, None)
    asked, answers = [question("q", "red car, bike", category="1")], [said("q", "red car")]
    assert scored(run_tables(asked, answers))[0]["q", "token_f1"] == (0.5, None)
    assert scored(run_tables(asked, answers, format="memlake"))[0]["q", "token_f1"][0] == pytest.approx(0.8)


def test_a_category_without_a_rule_has_no_official_value_but_a_plain_one():
    found, _ = scored(run_tables([question("q", category="9")], [said("q", "red car")]))
    assert found["q", "token_f1"] == (None, "unknown_category")
    assert found["q", "token_f1_plain"] == (1.0, None)


def test_an_unanswerable_question_is_scored_by_category_5_of_locomo_and_nowhere_else():
    never = {"answer": None, "answerable": False, "category": "5"}
    answers = [said("q", "not mentioned"), said("p", "red car"), said("o", "not mentioned")]
    asked = [question("q", **never), question("p", **never), question("o", None, answerable=False, category="2")]
    found, _ = scored(run_tables(asked, answers))
    assert [found[name, "token_f1"] for name in "qpo"] == [(1.0, None), (0.0, None), (None, "unanswerable")]
    assert of("q", found)[1:] == [(None, "unanswerable")] * 4
    assert of("q", scored(run_tables(asked, answers, format="beam"))[0]) == [(None, "unanswerable")] * len(TEXT_METRICS)


def test_gold_that_is_missing_or_has_no_word_is_told_apart():
    asked = [
        question("none", None),
        question("blank", " "),
        question("signs", "?!"),
        question("only", None, answers=["x"]),
    ]
    answers = [said(name, "red") for name in ("none", "blank", "signs")] + [said("only", "x")]
    found, _ = scored(run_tables(asked, answers))
    assert of("none", found) == [(None, "no_gold_answer")] * len(TEXT_METRICS)
    assert [found["blank", metric] for metric in ("token_f1", "bleu", "rouge_l")] == [
        (0.0, None), (None, "no_gold_words"), (None, "no_gold_words"),
    ]  # fmt: skip
    assert found["signs", "bleu"] == (0.0, None)
    assert found["signs", "rouge_l"] == (None, "no_gold_words")
    assert found["only", "exact_match"] == (1.0, None)


def test_each_label_set_is_scored_on_its_own_and_every_repeat_too():
    asked = [question("q", "red"), question("q", "blue", label_set="corrected", category="2")]
    tables = run_tables(asked, [said("q", "red"), said("q", "blue", repeat=1)])
    with connection_of(**tables) as connection:
        rows = answer_scores(connection, "r", {"c": "english"})[0].to_pylist()
    found = {
        (row["label_set"], row["category"], row["repeat"]): row["value"]
        for row in rows
        if row["metric"] == "exact_match"
    }
    assert found == {
        ("official", "4", 0): 1.0, ("official", "4", 1): 0.0, ("corrected", "2", 0): 0.0, ("corrected", "2", 1): 1.0,
    }  # fmt: skip


def test_signatures_say_what_decides_the_values_in_each_language():
    _, english = scored(run_tables([question("q")], [said("q", "red")]))
    assert set(english) == {"token_f1", "exact_match", "bleu", "rouge_l"}
    assert english["bleu"].startswith("nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|version:")
    _, other = scored(run_tables([question("q")], [said("q", "red")]), "other")
    assert "tok:char" in other["bleu@other"]
    assert other["token_f1@other"] == "locomo|stem:none"


def test_chinese_answers_are_compared_by_character_where_blanks_part_no_words():
    found, _ = scored(run_tables([question("q", "他住在北京")], [said("q", "他住在上海")], format="memsim"), "other")
    assert 0 < found["q", "bleu"][0] < 100
    assert found["q", "rouge_l"] == (None, "no_gold_words")


def test_a_run_without_answers_has_no_rows():
    with connection_of(cells=CELLS.empty()) as connection:
        scores, signatures = answer_scores(connection, "r", {})
    assert (scores.num_rows, scores.schema, signatures) == (0, SCORES.schema, {})


def test_an_answer_that_chooses_an_option_is_scored_by_the_text_of_the_option():
    asked = [question(name, "the red car", options=["bike", "the red car"]) for name in ("q", "p", "o")]
    answers = [said("q", "B", option=1), said("p", "A. the red car, no", option=0), said("o", "the red car or bike")]
    found, _ = scored(run_tables(asked, answers))
    assert [value for value, _ in of("q", found)] == [1.0, 1.0, 1.0, pytest.approx(100), 1.0]
    assert [value for value, _ in of("p", found)][:3] == [0.0, 0.0, 0.0]
    # It names none: its own text is all there is.
    assert 0 < found["o", "token_f1"][0] < 1
