"""Conversations: the dial changes the shape of facts and nothing else."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_shapes import shape_faults

from memlake.transforms.probes.check import faults
from memlake.transforms.probes.conversation import FACT, Probes, conversation_of, tag_of
from memlake.transforms.probes.plan import MIN_TURNS, ProbePlan, plan_of
from memlake.transforms.probes.template import CATEGORIES, SPLITS, UNANSWERABLE

FITS = (0.0, 0.25, 0.5, 0.75, 1.0)


def made(
    split: str = "test", *, conversations: int = 20, turns: int = 60, fit: float = 0.5, seed: int = 7
) -> list[Probes]:
    return [conversation_of(plan, fit) for plan in plans(split, conversations, turns, seed)]


def plans(split: str = "test", conversations: int = 20, turns: int = 60, seed: int = 7) -> list[ProbePlan]:
    return [plan_of(seed, split, index, turns) for index in range(conversations)]


@pytest.mark.parametrize("split", SPLITS)
def test_every_fact_has_the_shape_that_it_is_said_to_have(split: str) -> None:
    for fit in (0.0, 1.0):
        assert list(shape_faults(made(split, conversations=16, turns=160, fit=fit))) == []


@given(
    seed=st.integers(0, 2**40), split=st.sampled_from(SPLITS), turns=st.integers(MIN_TURNS, 170), fit=st.floats(0, 1)
)
def test_any_seed_and_size_gives_sound_questions(seed: int, split: str, turns: int, fit: float) -> None:
    conversations = made(split, conversations=2, turns=turns, fit=fit, seed=seed)
    assert list(faults(conversations)) == []
    assert [len(conversation.turns) for conversation in conversations] == [turns, turns]
    assert not any(
        "{" in turn.text or "}" in turn.text for conversation in conversations for turn in conversation.turns
    )


def test_a_greater_fit_only_moves_facts_into_the_shape_that_fits() -> None:
    for plan in plans():
        told = [conversation_of(plan, fit) for fit in FITS]
        fitting = [
            {q.question_id for q in conversation.questions if q.fits and q.answer is not None} for conversation in told
        ]
        assert all(less <= more for less, more in pairwise(fitting))
        assert fitting[0] == set()
        assert fitting[-1] == {q.question_id for q in told[0].questions if q.answer is not None}


def test_the_share_of_facts_that_fit_is_about_the_fit() -> None:
    for fit in (0.25, 0.75):
        facts = [
            q.fits
            for conversation in made(conversations=100, fit=fit)
            for q in conversation.questions
            if q.answer is not None
        ]
        assert sum(facts) / len(facts) == pytest.approx(fit, abs=0.05)


def test_between_two_fits_nothing_differs_but_the_turns_of_facts_that_changed_their_shape() -> None:
    for plan in plans():
        low, high = conversation_of(plan, 0.2), conversation_of(plan, 0.8)
        changed = {
            turn_id
            for low_question, high_question in zip(low.questions, high.questions, strict=True)
            if low_question.fits != high_question.fits
            for turn_id in low_question.evidence
        }
        for low_turn, high_turn in zip(low.turns, high.turns, strict=True):
            assert (low_turn == high_turn) == (low_turn.turn_id not in changed)
            assert (low_turn.turn_id, low_turn.speaker, low_turn.session_at, low_turn.planted) == (
                high_turn.turn_id, high_turn.speaker, high_turn.session_at, high_turn.planted,
            )  # fmt: skip
        for low_question, high_question in zip(low.questions, high.questions, strict=True):
            assert (low_question.text, low_question.answer, low_question.distractors) == (
                high_question.text,
                high_question.answer,
                high_question.distractors,
            )


def test_both_shapes_are_about_as_long() -> None:
    length = [sum(len(turn.text) for conversation in made(fit=fit) for turn in conversation.turns) for fit in (0, 1)]
    assert 0.93 < length[0] / length[1] < 1.07


def test_spans_are_what_was_planted_and_lie_in_the_evidence() -> None:
    for conversation in made():
        texts = {turn.turn_id: turn.text for turn in conversation.turns}
        for question in conversation.questions:
            assert tuple(turn_id for turn_id, _, _ in question.spans) == question.evidence
            told = [texts[turn_id][start:end] for turn_id, start, end in question.spans]
            shape = question.fact.template.fit if question.fits else sum(question.fact.template.loose, ())
            if question.answer is not None:
                assert len(told) == len(shape)
                assert all(text.strip() == text and text[-1] in ".?" for text in told)


def test_an_older_value_is_told_before_the_fact() -> None:
    seen = 0
    for conversation in made(conversations=60):
        place = {turn.turn_id: number for number, turn in enumerate(conversation.turns)}
        for question in conversation.questions:
            if question.answer is not None and "older" in question.distractors:
                seen += 1
                assert place[question.distractors["older"]] < min(place[turn_id] for turn_id in question.evidence)
    assert seen > 10


def test_nobody_is_spoken_of_in_two_facts_about_the_same_kind_of_value() -> None:
    shared = 0
    for plan in plans(turns=160):
        told: dict[str, set[str]] = {}
        people: list[str] = []
        for fact in plan.facts:
            pools = fact.template.slots
            subjects = {fact.values[slot] for slot, pool in pools.items() if pool in plan.subjects}
            people += sorted(subjects)
            for pool in set(pools.values()) - set(plan.subjects):
                assert not told.setdefault(pool, set()) & subjects
                told[pool] |= subjects
        shared += len(people) - len(set(people))
    assert shared > 100, "but they are in facts of other kinds, so that a name alone finds nothing"


def test_every_category_comes_up_and_a_trap_has_a_near_miss_but_no_older_value() -> None:
    questions = [question for conversation in made(conversations=60) for question in conversation.questions]
    assert {question.category for question in questions} == {*CATEGORIES, UNANSWERABLE}
    traps = [question for question in questions if question.category == UNANSWERABLE]
    assert all(trap.distractors and "older" not in trap.distractors and not trap.evidence for trap in traps)


def test_two_speakers_take_turns_in_a_session_and_sessions_go_forward_in_time() -> None:
    for conversation in made(turns=61):
        assert len({turn.speaker for turn in conversation.turns}) == 2
        for before, after in pairwise(conversation.turns):
            if before.session_id == after.session_id:
                assert before.speaker != after.speaker
            else:
                assert before.session_at < after.session_at
        assert conversation.turns[-1].session_at < conversation.asked_at
        assert sum(turn.planted == FACT for turn in conversation.turns) % 2 == 0


@pytest.mark.parametrize(("fit", "tag"), [(0, "f000"), (0.25, "f025"), (0.5, "f050"), (0.125, "f0125"), (1, "f100")])
def test_a_fit_has_a_short_name(fit: float, tag: str) -> None:
    assert tag_of(fit) == tag
