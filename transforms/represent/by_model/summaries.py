"""summaries: what a model makes of each session, a unit a session.

A summary comes from all turns of its session, so its provenance names them all, with no characters. Of a session that is too
long for one request the parts are summarised one by one and stand in one unit, a paragraph each; a part that failed is not in
its provenance, and the unit says how many did.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import pyarrow as pa

from memlake.transforms.llm.protocol.model import Model, Request
from memlake.transforms.represent.by_model.asked import (
    ASKING_SETTINGS,
    asked_of,
    check_asking_settings,
    material_of,
    pieces_for,
)
from memlake.transforms.represent.by_model.extracted import Item, Tally, extracted_units
from memlake.transforms.represent.common.representation import (
    Asking,
    Representation,
    RepresentationSpec,
    Settings,
    Units,
)
from memlake.transforms.represent.extract.extraction import (
    Answer,
    PieceRequest,
    ask_pieces,
    first_requests,
    text_tokens,
)
from memlake.transforms.represent.extract.pieces import Piece
from memlake.transforms.represent.ground.folding import shows_nothing
from memlake.transforms.represent.ground.grounding import Grounded
from memlake.transforms.represent.ground.stretches import Span

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
# A summary is always of a session, and there is nothing to miss in a second pass that a longer one would not say.
_FIXED: Settings = {"granularity": "session", "turns": 1, "context": 0, "second_pass": False}


def summary_settings(prompt_name: str, **more: int | float | str | bool) -> Settings:
    """The settings of a representation that summarises sessions."""
    kept = {name: value for name, value in ASKING_SETTINGS.items() if name not in _FIXED}
    return {**kept, "prompt": prompt_name, **more}


def session_pieces(turns: pa.Table) -> list[Piece]:
    """A piece a session."""
    return pieces_for(_FIXED, turns)


def check_summary_settings(settings: Settings) -> None:
    """Refuse sampling and room that make no sense.

    Raises:
        UsageError: see above.
        NotFoundError: no such prompt.
    """
    check_asking_settings({**_FIXED, **settings})
    summary_asked(settings)


def summary_asked(settings: Settings) -> PieceRequest:
    """What is asked of a session."""
    return asked_of({**_FIXED, **settings}, schema_name="summary", schema=SCHEMA, items="", need=_need)


def without_blank(answer: Answer) -> Answer:
    """The answer, empty where the model found nothing to say."""
    if not all(shows_nothing(item["summary"]) for item in answer.items):
        return answer
    return replace(answer, outcome="empty", items=()) if answer.outcome == "extracted" else answer


async def build_summaries(making: RepresentationSpec, turns: pa.Table, model: Model) -> Units:
    """Ask for the summary of every session and make each a unit.

    Raises:
        ModelStoppedError: the whole run is to stop.
    """
    answers = await ask_pieces(session_pieces(turns), summary_asked(making.settings), model)
    answers = [without_blank(answer) for answer in answers]
    items, tallies = [], [Tally() for _ in answers]
    of_session = groupby(enumerate(answers), key=lambda one: (one[1].piece.conversation_id, one[1].piece.session_id))
    for _, parts in of_session:
        item = _item_of(list(parts))
        if item is not None:
            items.append(item)
            tallies[item.answer].ungrounded += 1
    return extracted_units(making, answers, items, tallies)


def all_turns(answers: Sequence[Answer]) -> Grounded:
    """The turns of some pieces as what a text came from, without a quote."""
    turns = {turn.ordinal: turn for answer in answers for turn in answer.piece.turns}
    return Grounded("none", tuple(Span(turn, None, None) for turn in turns.values()))


def _item_of(parts: Sequence[tuple[int, Answer]]) -> Item | None:
    told = [(place, answer) for place, answer in parts if answer.outcome == "extracted"]
    if not told:
        return None
    failed = sum(answer.outcome == "failed" for _, answer in parts)
    counts = {"parts": len(parts) if len(parts) > 1 else 0, "failed_parts": failed}
    return Item(
        answer=told[0][0],
        kind="summary",
        text="\n".join(answer.items[0]["summary"].strip() for _, answer in told),
        grounded=(all_turns([answer for _, answer in told]),),
        attributes={name: count for name, count in counts.items() if count},
    )


def _need(piece: Piece) -> int:
    # A third of a short session, less of a long one; the room allowed is twice that.
    tokens = sum(text_tokens(turn.text) for turn in piece.turns)
    return 150 + min(tokens // 3, 1000)


def _first_requests(making: RepresentationSpec, turns: pa.Table) -> list[Request]:
    return first_requests(session_pieces(turns), summary_asked(making.settings))


SUMMARIES = Representation(
    "summaries",
    None,
    summary_settings("summaries"),
    check=check_summary_settings,
    asking=Asking(build_summaries, _first_requests, lambda settings: material_of(summary_asked(settings))),
)
