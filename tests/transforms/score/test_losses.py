"""Where a wrong answer was lost: one class each, and a flag where a second opinion calls it right."""

import pyarrow as pa
import pytest
from answered_runs import DEPTH, candidates, context, question, run_tables, said, source_tokens, unit_tokens, verdict
from small_tables import connection_of

from schemas import LOSSES
from transforms.errors import UsageError
from transforms.score.losses import losses_of

ALL = ("red", "car")


def losses(tables, *, stored=ALL, source=ALL):
    with connection_of(**tables) as connection:
        made = losses_of(
            connection,
            "r",
            unit_tokens=unit_tokens(*stored),
            source_tokens=source_tokens(*source),
            languages={"c": "english"},
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


def test_an_answer_without_content_words_is_not_in_the_source():
    assert lost(asked=question("q", "it is")) == ("not_in_source", False)


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


def test_other_k_cutoffs_are_not_the_candidate_list():
    wider = [context("q", *ALL, cutoff_kind="k", cutoff=DEPTH + 100), candidates("q"), context("q")]
    tables = run_tables([question("q")], [said("q", "blue")], [verdict("q", False)], wider)
    assert [row["loss"] for row in losses(tables)] == ["not_retrieved"]


def test_what_a_loss_is_told_by_may_not_be_missing():
    tables = run_tables([question("q")], [said("q", "blue")], [verdict("q", False)], [context("q", *ALL)])
    with pytest.raises(UsageError, match="cell='c1' question_id='q' has no context at k = depth"):
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
