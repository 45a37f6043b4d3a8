"""summaries: what a model makes of each session, a unit a session.

A summary comes from all turns of its session, so its provenance names them all, with no characters. Of a session that is too
long for one request the parts are summarised one by one and stand in one unit, a paragraph each; a part that failed is not in
its provenance, and the unit says how many did.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import pyarrow as pa

from memlake.transforms.represent.by_model.asked import (
    ASKING_SETTINGS,
    asked_of,
    check_asking_settings,
    representation_of_answers,
)
from memlake.transforms.represent.by_model.extracted import Item, Tally, extracted_units
from memlake.transforms.represent.by_model.extraction import Answer, PieceRequest, text_tokens
from memlake.transforms.represent.by_model.folding import shows_nothing
from memlake.transforms.represent.by_model.grounding import Grounded, Span
from memlake.transforms.represent.by_model.pieces import Piece
from memlake.transforms.represent.by_model.quoted import TEXT, object_of
from memlake.transforms.represent.common.representation import RepresentationSpec, Settings, Units

SCHEMA = object_of({"summary": TEXT})
# A summary is always of a session, and there is nothing to miss in a second pass that a longer one would not say.
_FIXED = ("granularity", "turns", "context", "second_pass")


def summary_settings(prompt_name: str, **more: int | float | str | bool) -> Settings:
    """The settings of a representation that summarises sessions."""
    return {
        **{name: value for name, value in ASKING_SETTINGS.items() if name not in _FIXED},
        "prompt": prompt_name,
        **more,
    }


def summary_request(settings: Settings) -> PieceRequest:
    """What is asked of a session."""
    return asked_of(settings, schema_name="summary", schema=SCHEMA, items="", need=_need)


def without_blank(answer: Answer) -> Answer:
    """The answer, empty where the model found nothing to say."""
    if not all(shows_nothing(item["summary"]) for item in answer.items):
        return answer
    return replace(answer, outcome="empty", items=()) if answer.outcome == "extracted" else answer


def _units(spec: RepresentationSpec, _: pa.Table, answers: Sequence[Answer]) -> Units:
    """Make the summary of every session a unit."""
    answers = [without_blank(answer) for answer in answers]
    items, tallies = [], [Tally() for _ in answers]

    def session(numbered: tuple[int, Answer]) -> tuple[str, str | None]:
        return numbered[1].piece.conversation_id, numbered[1].piece.session_id

    for _, parts in groupby(enumerate(answers), key=session):
        item = _item_of(list(parts))
        if item is not None:
            items.append(item)
            tallies[item.answer].ungrounded += 1
    return extracted_units(spec, answers, items, tallies)


def all_turns(pieces: Iterable[Piece]) -> Grounded:
    """The turns of some pieces as what a text came from, without a quote."""
    turns = {turn.ordinal: turn for piece in pieces for turn in piece.turns}
    return Grounded("none", tuple(Span(turn, None, None) for turn in turns.values()))


def _item_of(parts: Sequence[tuple[int, Answer]]) -> Item | None:
    extracted = [(place, answer) for place, answer in parts if answer.outcome == "extracted"]
    if not extracted:
        return None
    failed = sum(answer.outcome == "failed" for _, answer in parts)
    counts = {"parts": len(parts) if len(parts) > 1 else 0, "failed_parts": failed}
    return Item(
        answer=extracted[0][0],
        kind="summary",
        text="\n".join(answer.items[0]["summary"].strip() for _, answer in extracted),
        grounded=(all_turns(answer.piece for _, answer in extracted),),
        attributes={name: count for name, count in counts.items() if count},
    )


def _need(piece: Piece) -> int:
    # A third of a short session, less of a long one; the room allowed is twice that.
    tokens = sum(text_tokens(turn.text) for turn in piece.turns)
    return 150 + min(tokens // 3, 1000)


SUMMARIES = representation_of_answers(
    "summaries", summary_settings("summaries"), check=check_asking_settings, request=summary_request, units=_units
)
