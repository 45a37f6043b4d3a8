"""Metrics of answers beside the libraries that define them, and beside LoCoMo's rules written out word by word."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memlake.transforms.score.text_overlap import Bleu, RougeL, exact_match
from memlake.transforms.score.token_f1 import TokenF1, says_unanswerable

sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed: pip install sacrebleu")
rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
porter = pytest.importorskip("nltk.stem.porter", reason="nltk is not installed: pip install nltk")

# Words that the rules treat apart, numbers, repeats, marks, blanks of every kind.
WORDS = [
    "a", "an", "the", "and", "The", "red", "Red", "reds", "running", "ran", "dying", "7", "2023", "12,000", "p.m.", "it's",
    "well-known", ",", ";", " ; ", "\u00a0", "\t", "caf\u00e9", "a\u0301", "\u4eac", "\u0130", "\u00df", "_", "$5", "",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=20)

f1, bleu, rouge = TokenF1(), Bleu(), RougeL()
stem = porter.PorterStemmer().stem
scorer = rouge_scorer.RougeScorer(["rougeL"])


def words_of(text):
    """Lower-case, marks gone, four words gone wherever no letter, digit or underscore touches them, stems."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return [stem(word) for word in bare.split() if word not in ("a", "an", "the", "and")]


def plain_f1(said, gold):
    """Every word of the answer strikes out an equal one of the gold answer."""
    mine, left = words_of(said), words_of(gold)
    gold_size, shared = len(left), 0
    for word in mine:
        if word in left:
            left.remove(word)
            shared += 1
    return 2 * shared / (len(mine) + gold_size) if shared else 0.0


def locomo_f1(said, gold, category):
    if category == "1":
        parts = [max(plain_f1(part, expected) for part in said.split(",")) for expected in gold.split(",")]
        return sum(parts) / len(parts)
    return plain_f1(said, gold.partition(";")[0] if category == "3" else gold)


# What touches an article without being a letter, and is no ASCII mark, is told apart by cases written by hand.
LETTERS = st.characters(codec="ascii") | st.characters(categories=["L"])
PLAIN_WORDS = [word for word in WORDS if all(letter.isascii() or letter.isalpha() for letter in word)]
PLAIN = st.lists(st.sampled_from(PLAIN_WORDS), max_size=12).map(" ".join) | st.text(LETTERS, max_size=20)


@given(PLAIN, PLAIN, st.sampled_from("1234"))
@example("the red, red", "red, the", "1")
@example("", "", "1")
@example("red", ",", "1")
@example("red", ";red", "3")
def test_token_f1_is_that_of_the_official_rules(said, gold, category):
    assert f1.locomo(said, gold, category) == pytest.approx(locomo_f1(said, gold, category), abs=1e-12)
    assert f1.plain(said, gold) == pytest.approx(plain_f1(said, gold), abs=1e-12)


@given(TEXTS, TEXTS)
@example("", "red")
@example("red", "red")
@example("The red car", "the red car")
def test_bleu_is_that_of_sacrebleu(said, gold):
    if gold.strip():
        assert bleu(said, gold) == sacrebleu.sentence_bleu(said, [gold]).score
    else:
        assert bleu(said, gold) is None


def test_the_signature_of_bleu_is_that_of_the_metric_that_scores():
    metric = sacrebleu.metrics.BLEU(effective_order=True)
    metric.sentence_score("red", ["red"])
    assert bleu.signature == str(metric.get_signature())


@given(TEXTS, TEXTS)
@example("red red blue", "blue red red")
@example("a b a b a", "b a b")
def test_rouge_l_is_that_of_rouge_score(said, gold):
    expected = scorer.score(gold, said)["rougeL"].fmeasure
    found = rouge(said, gold)
    if found is None:
        assert expected == 0
        assert not any(letter in string.ascii_lowercase + string.digits for letter in gold.lower())
    else:
        assert found == expected


@given(TEXTS)
def test_an_answer_equals_itself_in_every_metric(text):
    assert exact_match(text, text) == 1.0
    assert f1.plain(text, text) in (0.0, 1.0)
    assert rouge(text, text) in (None, 1.0)
    assert bleu(text, text) in (None, 0.0) or bleu(text, text) == pytest.approx(100)


def test_exact_match_is_equality_after_squad_normalisation():
    assert exact_match("The Red-car!", "redcar") == 1.0
    assert exact_match("red  car", "a red car.") == 1.0
    assert exact_match("salt and pepper", "salt pepper") == 0.0
    assert exact_match("7", "seven") == 0.0
    assert exact_match("", "the") == 1.0


@given(TEXTS)
def test_declining_is_told_whatever_stands_around_it(text):
    assert says_unanswerable(f"{text} Not Mentioned {text}") == 1.0
    assert says_unanswerable(text) == 0.0
