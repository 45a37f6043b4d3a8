"""Where a wrong answer was lost: one class each, and a flag where a second opinion calls it right."""

import asyncio
from itertools import product

import pyarrow as pa
import pytest
from answered_runs import DEPTH, candidates, context, question, run_tables, said, source_tokens, unit_tokens, verdict
from small_tables import connection_of, rows_of

from memlake.schemas import EVIDENCE, LOSSES, PROVENANCE, RETRIEVALS
from memlake.transforms.answer.abstained import abstains
from memlake.transforms.answer.judging import judge_answers
from memlake.transforms.answer.spec import JudgeSpec
from memlake.transforms.base.errors import UsageError
from memlake.transforms.score.losses import losses_of, matches_of

ALL = ("red", "car")


def losses(tables, *, stored=ALL, source=ALL, **more):
    with connection_of(**tables) as connection:
        made = losses_of(
            connection,
            "r",
            unit_tokens=unit_tokens(*stored),
            source_tokens=source_tokens(*source),
            languages={"c": "english"},
            **more,
        )
    assert made.schema == LOSSES.schema
    assert len(made.group_by(list(LOSSES.key)).aggregate([])) == len(made)
    return made.to_pylist()


def lost(*, asked=None, answer=None, found=ALL, shown=ALL, judgements=None, **where):
    """The loss and the flag of the one wrong answer to a question whose answer is 'red car'."""
    tables = run_tables(
        [asked or question("q")],
        [answer or said("q", "blue")],
        judgements or [verdict("q", False)],
        [candidates("q", *found), context("q", *shown)],
    )
    (row,) = losses(tables, **where)
    return row["loss"], row["judge_disputed"]


@pytest.mark.parametrize(
    ("where", "loss"),
    [
        ({"source": ("bike",), "stored": (), "found": (), "shown": ()}, "not_in_source"),
        ({"stored": ("red",), "found": ("red",), "shown": ("red",)}, "not_stored"),
        ({"found": ("red",), "shown": ("red",)}, "not_retrieved"),
        ({"shown": ("red",)}, "packed_out"),
        ({}, "misread"),
        # Words that the conversation never says are asked of no store.
        ({"source": ("red",), "stored": ("red",), "found": ("red",), "shown": ("red",)}, "misread"),
        ({"source": ("red",), "stored": ("red",), "found": ("red",), "shown": ()}, "packed_out"),
        # A context may be longer than the candidate list: what it shows was retrieved.
        ({"found": (), "shown": ALL}, "misread"),
        # A plan may show the turns behind a unit: what is shown was stored.
        ({"stored": (), "found": (), "shown": ALL}, "misread"),
        ({"stored": (), "found": ALL, "shown": ()}, "packed_out"),
        ({"found": ("red",), "shown": ("car",)}, "packed_out"),
    ],
)
def test_the_first_place_where_a_word_is_missing_is_where_it_was_lost(where, loss):
    assert lost(**where) == (loss, False)


# Which unit each of two gold turns has, at rank 2 and 4; unit c is of no gold turn.
HELD = {"a": 0, "b": 1, "c": 7}
RANKED = ("c", "a", "c2", "b")


def lost_wordless(*, turns, listed, shown, held=HELD, ranked=RANKED, label_set="official"):
    """The loss of the answer 'she', whose gold turns are these, by how many ranks are candidates and shown."""
    tables = run_tables(
        [question("q", "she")],
        [said("q", "Bob")],
        [verdict("q", False)],
        [candidates("q", units=listed), context("q", units=shown)],
    )
    at = {"question_id": "q", "label_set": label_set, "status": "valid"}
    evidence = [at | {"position": place, "turn_id": f"t{turn}", "ordinal": turn} for place, turn in enumerate(turns)]
    pieces = [{"unit_id": name, "ordinal": turn, "touches_text": True} for name, turn in held.items()]
    ranks = [{"rank": rank, "unit_id": name} for rank, name in enumerate(ranked, 1)]
    tables["evidence"] = rows_of(EVIDENCE, evidence)
    tables["provenance"] = rows_of(PROVENANCE, [row | {"representation": "notes"} for row in pieces])
    of_cell = {"run_id": "r", "cell": "c1", "question_id": "q", "representation": "notes"}
    tables["retrievals"] = rows_of(RETRIEVALS, [of_cell | row for row in ranks])
    (row,) = losses(tables)
    return row["loss"]


@pytest.mark.parametrize(
    ("turns", "listed", "shown", "loss"),
    [
        ((0, 1), 4, 4, "misread"),
        ((0,), 4, 2, "misread"),
        ((0, 1), 4, 3, "packed_out"),
        ((0, 1), 3, 3, "not_retrieved"),
        # A context may be longer than the candidate list.
        ((0, 1), 3, 4, "misread"),
        ((0, 1), 0, 0, "not_retrieved"),
        ((0, 5), 4, 4, "not_stored"),
    ],
)
def test_an_answer_without_content_words_is_lost_where_its_gold_turns_are(turns, listed, shown, loss):
    assert lost_wordless(turns=turns, listed=listed, shown=shown) == loss


@pytest.mark.parametrize(
    ("listed", "shown", "loss"), [(4, 1, "misread"), (4, 0, "packed_out"), (0, 0, "not_retrieved")]
)
def test_without_words_and_gold_turns_only_what_was_shown_at_all_can_tell(listed, shown, loss):
    assert lost_wordless(turns=(), listed=listed, shown=shown) == loss
    # Gold of other labels is none of these.
    assert lost_wordless(turns=(0, 5), listed=listed, shown=shown, label_set="corrected") == loss


def test_turns_that_only_another_representation_holds_were_not_stored():
    tables = run_tables(
        [question("q", "she")], [said("q", "Bob")], [verdict("q", False)], [candidates("q", units=1), context("q")]
    )
    gold = {"question_id": "q", "label_set": "official", "status": "valid", "turn_id": "t0", "ordinal": 0}
    elsewhere = {"representation": "facts", "unit_id": "a", "ordinal": 0, "touches_text": True}
    tables |= {"evidence": rows_of(EVIDENCE, [gold]), "provenance": rows_of(PROVENANCE, [elsewhere])}
    assert [row["loss"] for row in losses(tables)] == ["not_stored"]


def test_an_answer_where_there_is_none_is_a_failed_abstention():
    never = question("q", None, answerable=False, category="5")
    assert lost(asked=never) == ("failed_abstention", False)
    # An abstention that is called wrong was lost by nobody but the judge, whom the rule disputes.
    assert lost(asked=never, answer=said("q", "none", abstained=True)) == ("misread", True)


def test_abstaining_from_an_answer_is_lost_where_the_words_were():
    assert lost(answer=said("q", "none", abstained=True), shown=("red",)) == ("packed_out", False)


def test_a_loss_is_disputed_by_another_judge_or_by_every_word_being_there():
    others = [verdict("q", False), verdict("q", True, judge="lenient", judge_repeat=1)]
    assert lost(judgements=others) == ("misread", True)
    assert lost(judgements=[verdict("q", False), verdict("q", None, judge="lenient")]) == ("misread", False)
    assert lost(answer=said("q", "a car that is red")) == ("misread", True)
    assert lost(answer=said("q", "auto"), asked=question("q", answers=["red car", "the auto"])) == ("misread", True)


def test_a_judge_of_abstention_disputes_nobody():
    verdicts = [verdict("q", False), verdict("q", True, judge="abstains")]
    assert lost(judgements=verdicts) == ("misread", True)
    assert lost(judgements=verdicts, unlike=frozenset({"abstains"})) == ("misread", False)
    verdicts.append(verdict("q", True, judge="lenient"))
    assert lost(judgements=verdicts, unlike=frozenset({"abstains"})) == ("misread", True)


def test_an_answer_that_abstains_matches_no_answer_even_where_it_holds_its_words():
    dodging = said("q", "No information available.", abstained=True)
    assert lost(
        asked=question("q", "no"), answer=dodging, source=("no",), stored=("no",), found=("no",), shown=("no",)
    ) == ("misread", False)


def test_a_choice_matches_by_the_text_of_its_option():
    asked = question("q", options=["bike", "red car"])
    assert lost(asked=asked, answer=said("q", "B", option=1)) == ("misread", True)
    assert lost(asked=asked, answer=said("q", "A, not the red car", option=0)) == ("misread", False)
    # The judges give no verdict on an answer that names none; a rule that did would dispute every judge.
    assert lost(asked=asked, answer=said("q", "the bike or the red car")) == ("misread", False)


WORDS = ("red car", "a bike", "no", "she", "No information available.", "not mentioned", "red", "")
GOLDS = ([], *([word] for word in WORDS), ["no", "red car"], ["", "a bike"])
CHOICES = (
    ([], None),
    *((texts, chosen) for texts in (["red car", "a bike"], ["no", "not mentioned"]) for chosen in (None, 0, 1)),
)


def test_the_check_says_what_the_judge_match_says_of_every_answer_gold_and_choice():
    asked, given = [], []
    for place, (text, golds, (options, option), answerable) in enumerate(product(WORDS, GOLDS, CHOICES, (True, False))):
        more = {"options": options, "answers": golds, "answerable": answerable}
        asked.append(question(f"q{place:04}", golds[0] if golds else None, **more))
        given.append(said(f"q{place:04}", text, abstained=abstains(text), option=option))
    tables = run_tables(asked, given)
    with connection_of(**tables) as connection:
        rows = matches_of(connection, "r", {"c": "english"}).select(["question_id", "matched"]).to_pylist()
    checked = {row["question_id"]: row["matched"] for row in rows}
    judge = JudgeSpec("match", "match")
    judged = asyncio.run(judge_answers(judge, tables["answers"], tables["questions"], None)).to_pylist()
    assert checked == {row["question_id"]: row["correct"] for row in judged}
    assert set(checked.values()) == {True, False, None}


def test_a_judge_that_changes_its_mind_disputes_nobody():
    (row,) = losses(
        run_tables(
            [question("q")],
            [said("q", "blue")],
            [verdict("q", False), verdict("q", True, judge_repeat=1)],
            [candidates("q", *ALL), context("q", *ALL)],
        )
    )
    assert (row["judge_repeat"], row["judge_disputed"]) == (0, False)


def test_right_answers_failed_verdicts_and_failed_answers_are_no_losses():
    tables = run_tables(
        [question("q"), question("p"), question("o"), question("n")],
        [said("q", "red car"), said("p", "blue"), said("o", None), said("n", "blue")],
        [verdict("q", True), verdict("p", None), verdict("o", None, reason="no_answer"), verdict("n", False)],
        [candidates("n"), context("n")],
    )
    assert [row["question_id"] for row in losses(tables)] == ["n"]


def test_each_label_set_budget_and_repeat_has_its_own_loss():
    asked = [question("q"), question("q", "boat", label_set="corrected", category="1")]
    tables = run_tables(
        asked,
        [said("q", "blue"), said("q", "blue", repeat=1), said("q", "blue", cutoff=50)],
        [
            verdict("q", False),
            verdict("q", False, repeat=1),
            verdict("q", False, cutoff=50),
            verdict("q", False, label_set="corrected"),
        ],
        [candidates("q", *ALL), context("q", *ALL), context("q", cutoff=50)],
    )
    found = {(row["label_set"], row["category"], row["cutoff"], row["repeat"]): row["loss"] for row in losses(tables)}
    assert found == {
        ("official", "4", 500, 0): "misread",
        ("official", "4", 500, 1): "misread",
        ("official", "4", 50, 0): "packed_out",
        ("corrected", "1", 500, 0): "not_in_source",
    }


def test_two_corpora_with_the_same_names_do_not_mix():
    there = {"corpus": "d"}
    tables = run_tables(
        [question("q"), question("q", **there)],
        [said("q", "blue"), said("q", "blue", **there)],
        [verdict("q", False), verdict("q", False, **there)],
        [context("q"), candidates("q"), context("q", "red", **there), candidates("q", *ALL, **there)],
        corpora=("c", "d"),
    )
    with connection_of(**tables) as connection:
        made = losses_of(
            connection,
            "r",
            unit_tokens=unit_tokens(*ALL, corpus="d"),
            source_tokens=pa.concat_tables([source_tokens(*ALL), source_tokens(*ALL, corpus="d")]),
            languages={"c": "english", "d": "english"},
        )
    assert {row["corpus"]: row["loss"] for row in made.to_pylist()} == {"c": "not_stored", "d": "packed_out"}


def test_a_k_cutoff_is_not_the_candidate_list_even_at_its_depth():
    wider = [context("q", *ALL, cutoff_kind="k", cutoff=k) for k in (DEPTH, DEPTH + 100)]
    wider += [candidates("q"), context("q")]
    tables = run_tables([question("q")], [said("q", "blue")], [verdict("q", False)], wider)
    assert [row["loss"] for row in losses(tables)] == ["not_retrieved"]


def test_what_a_loss_is_told_by_may_not_be_missing():
    tables = run_tables([question("q")], [said("q", "blue")], [verdict("q", False)], [context("q", *ALL)])
    with pytest.raises(UsageError, match="cell='c1' question_id='q' has no context of kind 'candidates'"):
        losses(tables)
    with pytest.raises(UsageError, match="conversation_id='v' has wrong answers and no source tokens"):
        losses(tables, source=())


def test_counts_of_losses_are_by_category_and_over_all_with_their_share():
    asked = [question("q"), question("p", category="1"), question("o", "boat", category="1")]
    shown = [row for name in "qpo" for row in (candidates(name, *ALL), context(name, *ALL))]
    tables = run_tables(
        asked, [said(name, "red car" if name == "q" else "blue") for name in "qpo"],
        [verdict(name, False) for name in "qpo"], shown,
    )  # fmt: skip
    with connection_of(**tables) as connection:
        made = losses_of(
            connection,
            "r",
            unit_tokens=unit_tokens(*ALL),
            source_tokens=source_tokens(*ALL),
            languages={"c": "english"},
        )
        connection.register("losses", made)
        rows = connection.sql("from loss_counts").to_arrow_table().to_pylist()
    found = {(row["category"], row["loss"]): (row["wrong"], row["disputed"], row["share"]) for row in rows}
    assert found == {
        (None, "misread"): (2, 1, pytest.approx(2 / 3)),
        (None, "not_in_source"): (1, 0, pytest.approx(1 / 3)),
        ("4", "misread"): (1, 1, 1.0),
        ("1", "misread"): (1, 0, 0.5),
        ("1", "not_in_source"): (1, 0, 0.5),
    }
