"""The checks find each fault that they are there for."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from probe_shapes import shape_faults

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.probes.check import check, faults
from memlake.transforms.probes.conversation import ProbeQuestion, Probes, conversation_of
from memlake.transforms.probes.plan import plan_of

SOUND = conversation_of(plan_of(7, "test", 0, 60), 0.5)
TOLD = next(question for question in SOUND.questions if question.answer is not None and question.fits)
LOOSE = next(question for question in SOUND.questions if question.answer is not None and not question.fits)
TRAP = next(question for question in SOUND.questions if question.answer is None)


def asking(question: ProbeQuestion) -> Probes:
    """The sound conversation with one question in the place of its namesake."""
    return replace(
        SOUND,
        questions=tuple(question if sound.question_id == question.question_id else sound for sound in SOUND.questions),
    )


def saying(text: str, turn_id: str) -> Probes:
    """The sound conversation with more said in one turn."""
    return replace(
        SOUND,
        turns=tuple(
            replace(turn, text=f"{turn.text} {text}") if turn.turn_id == turn_id else turn for turn in SOUND.turns
        ),
    )


def filler() -> str:
    return next(turn.turn_id for turn in SOUND.turns if turn.planted == "filler")


BROKEN: dict[str, Callable[[], Probes]] = {
    "of its answer": lambda: asking(replace(TOLD, text=f"{TOLD.text} {TOLD.answer}")),
    "the gold turns lack": lambda: asking(replace(TOLD, evidence=(filler(),))),
    "is filler": lambda: asking(replace(TOLD, evidence=(*TOLD.evidence, filler()))),
    "hold the answer": lambda: saying(str(TOLD.answer), filler()),
    "are gold": lambda: asking(replace(TOLD, evidence=(*TOLD.evidence, *TOLD.distractors.values()))),
    "without an answer": lambda: asking(replace(TRAP, evidence=TOLD.evidence)),
    "turn id 's1.1' comes twice": lambda: replace(SOUND, turns=(*SOUND.turns, SOUND.turns[0])),
    "question id 'q1' comes twice": lambda: replace(SOUND, questions=(*SOUND.questions, SOUND.questions[0])),
}


def test_a_conversation_as_it_is_made_has_no_fault() -> None:
    assert list(faults([SOUND])) == []
    check([SOUND])


@pytest.mark.parametrize("what", BROKEN)
def test_a_fault_is_found_and_named(what: str) -> None:
    broken = BROKEN[what]()
    assert any(what in fault for fault in faults([broken]))
    with pytest.raises(MemlakeError, match="faults in 1 conversations of probes"):
        check([broken])


def test_two_conversations_of_one_name_are_a_fault() -> None:
    assert any("comes twice" in fault for fault in faults([SOUND, SOUND]))


def test_a_fact_of_the_wrong_shape_is_found() -> None:
    assert list(shape_faults([SOUND])) == []
    assert len(list(shape_faults([asking(replace(TOLD, fits=False))]))) == 1
    assert len(list(shape_faults([asking(replace(LOOSE, fits=True))]))) == 1
    assert len(list(shape_faults([saying(f"We decided on {LOOSE.answer}.", LOOSE.evidence[0])]))) == 1
