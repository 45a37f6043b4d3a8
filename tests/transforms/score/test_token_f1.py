"""Token F1 by hand: what counts as a word, and LoCoMo's rule for each category."""

import pytest

from memlake.transforms.score.token_f1 import TokenF1, says_unanswerable

f1 = TokenF1()


@pytest.mark.parametrize(
    ("said", "gold", "value"),
    [
        ("A red car.", "the Red car", 1.0),
        ("running", "runs", 1.0),
        ("salt and pepper", "pepper, salt", 1.0),
        ("its 7 pm", "it's 7 p.m.", 1.0),
        ("red car", "blue bike", 0.0),
        ("", "red", 0.0),
        ("red", "", 0.0),
        ("the", "and", 0.0),
        ("red red red", "red", 0.5),
        ("red red", "red red red", 0.8),
        ("5", "5", 1.0),
        ("12,000", "12000", 1.0),
        ("café", "cafe", 0.0),
    ],
)
def test_words_are_compared_as_a_multiset_of_stems_without_articles_and_punctuation(said, gold, value):
    assert f1.plain(said, gold) == pytest.approx(value)


def test_punctuation_leaves_no_blank_behind_and_goes_before_the_articles():
    assert f1.plain("well-known", "wellknown") == 1.0
    assert f1.plain("well known", "well-known") == 0.0
    assert f1.plain("the's", "thes") == 1.0


def test_a_combining_mark_belongs_to_the_letter_before_it():
    # An a with an acute accent, decomposed, is no article that leaves its accent behind.
    assert f1.plain("a\u0301", "\u0301") == 0.0


def test_category_1_averages_the_best_part_for_each_gold_part():
    assert f1.locomo("red car", "red car, blue bike", "1") == 0.5
    assert f1.locomo("blue bike, red car", "red car, blue bike", "1") == 1.0
    assert f1.locomo("red bike, x", "red car, blue bike", "1") == pytest.approx(0.5)
    # A comma at the end opens a part that nothing can match.
    assert f1.locomo("red", "red,", "1") == 0.5
    assert f1.plain("red car", "red car, blue bike") == pytest.approx(2 / 3)


def test_category_3_reads_gold_up_to_its_first_semicolon():
    assert f1.locomo("yes", "yes; since she said so; twice", "3") == 1.0
    assert f1.locomo("yes", "yes; since she said so", "2") < 1.0


def test_categories_2_and_4_are_plain_and_others_have_no_rule():
    for category in ("2", "4"):
        assert f1.locomo("red, car", "red car, bike", category) == f1.plain("red, car", "red car, bike")
    assert f1.locomo("red", "red", "5") is None
    assert f1.locomo("red", "red", "multi-hop") is None


def test_text_of_another_language_is_not_stemmed():
    assert TokenF1("other").plain("running", "runs") == 0.0
    assert TokenF1("other").plain("跑步 鞋", "鞋 跑步") == 1.0


def test_declining_is_told_by_the_official_phrases_alone():
    assert says_unanswerable("No information available.") == 1.0
    assert says_unanswerable("It is NOT MENTIONED in the chat") == 1.0
    assert says_unanswerable("I cannot know") == 0.0
    assert says_unanswerable("") == 0.0
