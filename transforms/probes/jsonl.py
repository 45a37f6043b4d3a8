"""Probes as memlake's own JSONL: a conversation a line, with its questions."""

import json
from collections.abc import Sequence

from memlake.transforms.probes.conversation import ProbeQuestion, Probes


def lines_of(conversations: Sequence[Probes]) -> str:
    """One line a conversation, each ended by a line break; the same probes give the same characters.

    What a question is made of stands in its attributes: `pair` is the same question at every fit, `fits` the shape of its
    fact (null where it is not stated), `spans` what was planted as [turn_id, start, end] in code points of the turn.
    """
    return "".join(json.dumps(_line(conversation), ensure_ascii=False) + "\n" for conversation in conversations)


def _line(conversation: Probes) -> dict[str, object]:
    return {
        "conversation_id": conversation.conversation_id,
        "turns": [
            {
                "turn_id": turn.turn_id,
                "session_id": turn.session_id,
                "session_at": turn.session_at,
                "speaker": turn.speaker,
                "text": turn.text,
            }
            for turn in conversation.turns
        ],
        "questions": [_asked(question, conversation) for question in conversation.questions],
    }


def _asked(question: ProbeQuestion, conversation: Probes) -> dict[str, object]:
    return {
        "question_id": question.question_id,
        "text": question.text,
        "answer": question.answer,
        "category": question.category,
        "evidence": list(question.evidence),
        "asked_at": conversation.asked_at,
        "answerable": question.answer is not None,
        "attributes": {
            "pair": f"{conversation.name}:{question.question_id}",
            "fit": conversation.fit,
            "fits": None if question.answer is None else question.fits,
            "draw": question.fact.draw,
            "domain": conversation.domain,
            "template": question.fact.template.name,
            "template_category": question.fact.template.category,
            "derived": question.fact.template.derived,
            "spans": [list(span) for span in question.spans],
            "distractors": question.distractors,
        },
    }
