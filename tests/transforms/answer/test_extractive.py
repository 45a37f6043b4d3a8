"""The extractive reader: the sentence with the rarest words of the question, the same whatever stands beside it."""

import asyncio
import math
import random

import pytest
from answer_tables import contexts, question, questions
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.answer.abstained import ABSTENTION
from memlake.transforms.answer.answering import answer_contexts, answer_requests
from memlake.transforms.answer.extractive import best_sentences
from memlake.transforms.answer.options import shown_order
from memlake.transforms.answer.questions import AskedQuestion
from memlake.transforms.answer.spec import ReaderSpec
from memlake.transforms.text.content_tokens import content_tokens

WORDS = ("river", "bridge", "tram", "garden", "violin", "winter", "lantern", "ferry", "harbour", "orchard")


def asked(text: str, *options: str) -> AskedQuestion:
    return AskedQuestion(text, None, options, tuple(shown_order("c", "q0", len(options))))


def best(context: str, text: str, *options: str) -> tuple[str, int | None]:
    return best_sentences([context], [asked(text, *options)])[0]


def by_hand(context: str, text: str) -> str:
    """The formula of the module, word for word and slowly."""
    sentences = list(dict.fromkeys(f"{sentence.strip()}." for sentence in context.split(".") if sentence.strip()))
    tokens = [content_tokens(sentence) for sentence in sentences]
    usual = sum(map(len, tokens)) / len(tokens)
    scores = []
    for of_one in tokens:
        score = 0.0
        for token in dict.fromkeys(content_tokens(text)):
            df = sum(token in other for other in tokens)
            tf = of_one.count(token)
            idf = math.log(1 + (len(tokens) - df + 0.5) / (df + 0.5))
            score += idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * len(of_one) / usual))
        scores.append(score)
    return sentences[scores.index(max(scores))] if max(scores) else ABSTENTION


def test_the_rare_word_of_the_question_decides() -> None:
    context = "[8 May, 2023] Ida: I like the ferry. The ferry is slow.\n[9 May, 2023] Bo: My violin is in Ghent. The ferry is late."
    assert best(context, "Where is the violin, on the ferry?")[0] == "Bo: My violin is in Ghent."


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=6),
    st.lists(st.sampled_from([*WORDS, "comet"]), min_size=1, max_size=4),
)
def test_the_score_is_the_formula_that_is_written_down(sentences: list[list[str]], words: list[str]) -> None:
    context = " ".join(" ".join(sentence) + "." for sentence in sentences)
    assert best(context, " ".join(words))[0] == by_hand(context, " ".join(words))


def test_equal_sentences_go_by_place() -> None:
    assert best("The tram waits here.\nThe tram stops here.", "tram?")[0] == "The tram waits here."
    assert best("The tram stops here.\nThe tram waits here.", "tram?")[0] == "The tram stops here."


def test_a_sentence_that_overlapping_units_repeat_counts_once() -> None:
    context = "The tram is late.\nThe tram is late.\nA garden of roses.\nThe tram has a garden near it."
    assert best(context, "tram garden")[0] == "The tram has a garden near it."


def test_without_a_shared_word_it_abstains() -> None:
    assert best("The tram is late.", "Where is my violin?")[0] == ABSTENTION
    assert best("", "Where is my violin?")[0] == ABSTENTION
    assert best("The tram is late.", "Where is he?")[0] == ABSTENTION


def test_a_date_header_is_no_sentence_and_no_part_of_one() -> None:
    assert best("[8 May, 2023] The tram is late. May I go?", "8 May 2023")[0] == "May I go?"
    assert best("[8 May, 2023] \nThe tram is late.", "8 2023")[0] == ABSTENTION
    assert best("[shares a photo of a tram] Look!", "tram")[0] == "[shares a photo of a tram] Look!"


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (("in Oslo by the sea", "in Ghent", "in a tent"), 1),
        (("Ghent or Oslo", "Ghent"), 1),
        (("her violin is in Ghent", "Ghent"), 0),
    ],
)
def test_it_takes_the_option_that_the_best_sentence_holds_most_of(options: tuple[str, ...], place: int) -> None:
    assert best("Her violin is in Ghent.", "Where is the violin?", *options) == ("Her violin is in Ghent.", place)


def test_it_abstains_where_the_best_sentence_speaks_for_no_option() -> None:
    assert best("Her violin is in Ghent.", "Where is the violin?", "Oslo", "Rome") == (ABSTENTION, None)


def test_equal_options_go_by_the_place_where_they_are_shown() -> None:
    for order in ((0, 1, 2), (2, 1, 0)):
        question = AskedQuestion("Where is the violin?", None, ("Ghent", "violin", "Ghent"), order)
        assert best_sentences(["Her violin is in Ghent."], [question])[0][1] == order[0]


def test_it_takes_no_option_where_it_abstains() -> None:
    assert best("The tram is late.", "Where is the violin?", "tram", "late") == (ABSTENTION, None)


def test_an_answer_depends_on_nothing_beside_its_own_context() -> None:
    rng = random.Random(3)
    texts = ["\n".join(" ".join(rng.choices(WORDS, k=5)) + "." for _ in range(8)) for _ in range(20)]
    ask = [asked(" ".join(rng.choices(WORDS, k=3))) for _ in texts]
    together = best_sentences(texts, ask)
    assert together == [best_sentences([text], [question])[0] for text, question in zip(texts, ask, strict=True)]
    assert best_sentences(texts[::-1], ask[::-1]) == together[::-1]


def test_text_of_another_language_is_compared_unstemmed() -> None:
    question = asked("straßen brücken")
    texts = ["Die straße ist alt. Die brücken sind neu."]
    assert best_sentences(texts, [question], language="other")[0][0] == "Die brücken sind neu."


def test_the_rows_keep_the_contexts_order_and_say_what_abstained() -> None:
    reader = ReaderSpec("best-sentence", "extractive")
    given = contexts("[8 May] Ida lives in Ghent.", "", None)
    asked_of = questions(question(2), question(0), question(1))
    rows = asyncio.run(answer_contexts(reader, given, asked_of, None)).to_pylist()
    assert [(row["question_id"], row["text"], row["reason"], row["abstained"]) for row in rows] == [
        ("q0", "Ida lives in Ghent.", None, False),
        ("q1", ABSTENTION, None, True),
        ("q2", None, "no_text", None),
    ]
    assert {(row["cell"], row["cutoff"], row["request_hash"]) for row in rows} == {("chunks", 1000, None)}
    assert answer_requests(reader, given, asked_of) == []


def test_a_sentence_that_asks_is_taken_only_where_nothing_else_shares_a_word() -> None:
    assert best("Where is the violin? The violin is in the garden.", "where is the violin")[0].endswith("garden.")
    assert best("Where is the violin? The tram is late.", "where is the violin")[0] == "Where is the violin?"
