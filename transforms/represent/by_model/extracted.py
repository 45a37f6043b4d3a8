"""Units of what a model said of pieces, with their provenance and accounts: extractions, dead letters, what is unfinished."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa

from memlake.schemas.extractions import EXTRACTIONS
from memlake.schemas.links import LINKS
from memlake.schemas.table import TIME, settings_json
from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.represent.by_model.extraction import Answer
from memlake.transforms.represent.by_model.grounding import Grounded, Grounding, Span
from memlake.transforms.represent.by_model.pieces import Piece
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.common.units import provenance_table, unit_table
from memlake.transforms.text.canonical import header, ints, rank_in_run
from memlake.transforms.text.clean import mend

# The columns of extractions that an answer has under their own names.
_OF_ANSWER = ("outcome", "calls", "splits", "repairs", "dropped", "tokens_in", "tokens_out", "request_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A unit to be made of what a model said about a piece.

    Attributes:
        answer: the place of the piece's answer.
        text: what a reader sees, without the date header.
        key: what is indexed, without the date header; None for the same.
        grounded: how its quotes stand in the source; the first says what the unit counts as.
        at: when what it tells took place; None for when the first of its turns was said.
        dated_by: the piece whose session's date stands before the text and whose first turn's time is the unit's; None
            for the session and the first of its turns.
    """

    answer: int
    kind: str
    text: str
    grounded: tuple[Grounded, ...]
    key: str | None = None
    speaker: str | None = None
    at: datetime | None = None
    dated_by: Piece | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """What was made of one answer: the columns of extractions of the same names."""

    units: int = 0
    duplicates: int = 0
    exact: int = 0
    normalised: int = 0
    fuzzy: int = 0
    ungrounded: int = 0
    stored_chars: int = 0

    def count(self, grounding: Grounding) -> None:
        """Count a statement that is grounded so."""
        name = "ungrounded" if grounding == "none" else grounding
        setattr(self, name, getattr(self, name) + 1)


def extracted_units(
    spec: RepresentationSpec, answers: Sequence[Answer], items: Sequence[Item], tallies: Sequence[Tally]
) -> Units:
    """Make the items units.

    Args:
        items: in the order of their answers.
        tallies: one an answer; `units` and `stored_chars` are counted here, the rest where duplicates were merged.
    """
    for item in items:
        tallies[item.answer].units += 1
        tallies[item.answer].stored_chars += len(item.text)
    pieces = [answers[item.answer].piece for item in items]
    spans = [_spans(item.grounded) for item in items]
    homes = [_home(item, piece, of_item) for item, piece, of_item in zip(items, pieces, spans, strict=True)]
    is_bare = spec.settings.get("header") == "none"
    headers = ["" if is_bare else header(label) for _, label in homes]
    times = [
        item.dated_by.turns[0].at if item.dated_by else item.at or of_item[0][1].turn.at
        for item, of_item in zip(items, spans, strict=True)
    ]
    conversations = [piece.conversation_id for piece in pieces]
    units = unit_table(
        spec,
        corpus=pa.array([piece.corpus for piece in pieces], pa.string()),
        conversation_id=pa.array(conversations, pa.string()),
        ordinal=_ordinals(conversations),
        kind=pa.array([item.kind for item in items], pa.string()),
        session_id=pa.array([session_id for session_id, _ in homes], pa.string()),
        show_text=[lead + item.text for lead, item in zip(headers, items, strict=True)],
        key_text=[
            lead + (item.text if item.key is None else item.key) for lead, item in zip(headers, items, strict=True)
        ],
        header_chars=np.fromiter(map(len, headers), np.int64, len(headers)),
        event_at=pa.array(times, TIME),
        speaker=pa.array([item.speaker for item in items], pa.string()),
        attributes=pa.array(
            [settings_json(item.attributes) if item.attributes else None for item in items], pa.string()
        ),
    )
    unit = np.repeat(np.arange(len(items)), [len(of_item) for of_item in spans])
    flat = [span for of_item in spans for span in of_item]
    provenance = provenance_table(
        units,
        unit,
        turn_id=pa.array([span.turn.turn_id for _, span in flat], pa.string()),
        ordinal=np.array([span.turn.ordinal for _, span in flat], np.int64),
        span=(
            pa.array([span.start for _, span in flat], pa.int64()),
            pa.array([span.end for _, span in flat], pa.int64()),
        ),
        grounding=pa.array([grounding for grounding, _ in flat], pa.string()),
        touches_text=np.array([span.touches_text for _, span in flat], np.bool_),
    )
    extractions, dead, unfinished = accounts_of(spec, answers, tallies)
    return Units(units, provenance, LINKS.empty(), extractions, dead, unfinished)


def accounts_of(
    spec: RepresentationSpec, answers: Sequence[Answer], tallies: Sequence[Tally]
) -> tuple[pa.Table, tuple[DeadLetter, ...], Mapping[str, tuple[str, ...]]]:
    """Rows of extractions, a dead letter for whatever was lost, and by conversation the requests to ask again."""
    numbers = _ordinals([answer.piece.conversation_id for answer in answers]).tolist()
    rows = [_row(spec, answer, number, tally) for answer, number, tally in zip(answers, numbers, tallies, strict=True)]
    unfinished: defaultdict[str, list[str]] = defaultdict(list)
    for answer in answers:
        if answer.unfinished:
            unfinished[answer.piece.conversation_id] += answer.unfinished
    dead = tuple(letter for answer in answers if (letter := _letter(spec, answer)))
    return EXTRACTIONS.rows(rows), dead, {name: tuple(hashes) for name, hashes in unfinished.items()}


def _row(spec: RepresentationSpec, answer: Answer, number: int, tally: Tally) -> dict[str, object]:
    piece = answer.piece
    return {
        "corpus": piece.corpus,
        "conversation_id": piece.conversation_id,
        "representation": spec.name,
        "piece": number,
        "session_id": piece.session_id,
        "first_ordinal": piece.turns[0].ordinal,
        "last_ordinal": piece.turns[-1].ordinal,
        "reason": answer.reason or None,
        "mode": answer.mode or None,
        "source_chars": piece.chars,
        **{name: getattr(answer, name) for name in _OF_ANSWER},
        **asdict(tally),
    }


def _letter(spec: RepresentationSpec, answer: Answer) -> DeadLetter | None:
    """What was lost of a piece: all of it, a second pass, or items that broke the schema."""
    is_failed = answer.outcome == "failed"
    if not (is_failed or answer.reason or answer.dropped):
        return None
    reason = answer.reason or "invalid_items"
    lost = f"{answer.dropped} items: " if answer.dropped else ""
    piece = answer.piece
    return DeadLetter(
        reason,
        f"{spec.name}, {piece.about}: {lost}{_storable(' '.join(answer.detail.split())[:500]) or reason}",
        f"{piece.corpus}/{piece.conversation_id}",
        piece.turns[0].ordinal,
        scope="turn" if is_failed or answer.reason else "unit",
        outcome="kept" if answer.reason and not is_failed else "dropped",
        stage="extract",
        payload=_storable(answer.raw) or None,
    )


def _storable(text: str) -> str:
    """A model may write half an emoji, which no file can hold."""
    return str(mend(text)[0])


def _home(item: Item, piece: Piece, spans: Sequence[tuple[str, Span]]) -> tuple[str | None, str | None]:
    """The session of a unit and its date; of a piece of several sessions that in which all its spans lie, if one does."""
    if piece.session_id is not None and item.dated_by is None:
        return piece.session_id, piece.session_label
    homes = {(span.turn.session_id, span.turn.session_label) for _, span in spans}
    session_id, label = homes.pop() if len(homes) == 1 else (None, None)
    return session_id, item.dated_by.session_label if item.dated_by else label


def _spans(grounded: Sequence[Grounded]) -> list[tuple[str, Span]]:
    """Each place once, in the order of the source; places that are only cited count when no quote was found."""
    quoted = [found for found in grounded if found.grounding != "none"]
    places: dict[tuple[int, int, int], tuple[str, Span]] = {}
    for found in quoted or grounded:
        for span in found.spans:
            places.setdefault((span.turn.ordinal, span.start or 0, span.end or 0), (found.grounding, span))
    return [places[key] for key in sorted(places)]


def _ordinals(conversations: Sequence[str]) -> Ints:
    """The place of each entry within its conversation."""
    return rank_in_run(ints(pa.array(conversations, pa.string()).dictionary_encode().indices))
