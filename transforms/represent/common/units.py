"""Rows of units and provenance: the one place where every representation's columns and identities are made."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.links import LINKS
from memlake.schemas.provenance import PROVENANCE
from memlake.schemas.units import UNITS
from memlake.transforms.base.arrays import Bools, Ints
from memlake.transforms.base.ids import content_ids
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.text.canonical import Transcript, ints, rank_in_run, spoken


@dataclass(frozen=True, slots=True)
class Pieces:
    """Parts of turns that units were made from; parallel arrays, sorted by (unit, start).

    Attributes:
        unit: the unit's place in the batch.
        turn: the turn's row in the batch.
        start, end: code points on the transcript's line.
        touches_text: whether one of them is of the turn's text, not of its prefix or line break.
    """

    unit: Ints
    turn: Ints
    start: Ints
    end: Ints
    touches_text: Bools


def split_by_turn(transcript: Transcript, unit: Ints, start: Ints, end: Ints) -> Pieces:
    """Cut spans on the line, each a part of a unit, where they cross from one turn to the next."""
    first = np.searchsorted(transcript.end, start, side="right")
    counts = np.searchsorted(transcript.start, end, side="left") - first
    span = np.repeat(np.arange(len(unit)), counts)
    turn = first[span] + rank_in_run(span)
    cut_start = np.maximum(start[span], transcript.start[turn])
    cut_end = np.minimum(end[span], transcript.end[turn])
    touches = np.maximum(cut_start, transcript.text_start[turn]) < np.minimum(cut_end, transcript.text_end[turn])
    return Pieces(unit[span], turn, cut_start, cut_end, touches)


def finish(
    spec: RepresentationSpec,
    transcript: Transcript,
    pieces: Pieces,
    *,
    kind: str,
    show_text: list[str],
    header_chars: Ints,
    span: tuple[Ints, Ints] | None,
) -> Units:
    """Units and provenance of a representation that is made from the transcript itself.

    Args:
        pieces: at least one for each unit.
        show_text: one entry a unit, in the transcript's order, as all that follow.
        header_chars: leading code points of show_text that are no slice.
        span: start and end on the line for slices; None for units that are put together.
    """
    turns = transcript.turns
    first = np.searchsorted(pieces.unit, np.arange(len(show_text)))
    turn = pieces.turn[first]
    # Never the texts: a long one would be copied for each of its units.
    at_turn = turns.select(["corpus", "conversation_id", "session_id", "said_at", "session_at"]).take(pa.array(turn))
    corpus, conversation_id = at_turn["corpus"], at_turn["conversation_id"]
    base = transcript.base[turn]
    units = unit_table(
        spec,
        corpus=corpus,
        conversation_id=conversation_id,
        ordinal=rank_in_run(base),
        kind=pa.repeat(kind, len(show_text)),
        session_id=at_turn["session_id"],
        show_text=show_text,
        header_chars=header_chars,
        span=None if span is None else (span[0] - base, span[1] - base),
        event_at=pc.coalesce(at_turn["said_at"], at_turn["session_at"]),
        speaker=_only_speaker(turns, pieces, first),
    )
    provenance = provenance_table(
        units,
        pieces.unit,
        turn_id=turns["turn_id"].take(pa.array(pieces.turn)),
        ordinal=ints(turns["ordinal"])[pieces.turn],
        span=(pieces.start - transcript.base[pieces.turn], pieces.end - transcript.base[pieces.turn]),
        grounding="exact",
        touches_text=pieces.touches_text,
    )
    return Units(units, provenance, LINKS.empty())


def _only_speaker(turns: pa.Table, pieces: Pieces, first: Ints) -> pa.Array:
    """Who speaks in all turns of a unit; null when several people do."""
    if not len(first):
        return pa.array([], pa.string())
    speakers = turns["speaker"].combine_chunks().dictionary_encode()
    codes = ints(speakers.indices)[pieces.turn]
    low, high = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
    return speakers.dictionary.take(pa.array(low, mask=low != high))


def slice_units(
    spec: RepresentationSpec,
    transcript: Transcript,
    *,
    kind: str,
    start: Ints,
    end: Ints,
    leads: list[str] | None = None,
) -> Units:
    """Make a unit of each span [start, end) of the transcript's line, with exact provenance; none crosses a session.

    Args:
        start: first code point on the line, never decreasing from one session to the next.
        end: one past the last.
        leads: what stands before each slice; the session's date header when not given.
    """
    session = transcript.session_of(start)
    leads = transcript.headers_of(session) if leads is None else leads
    return finish(
        spec,
        transcript,
        split_by_turn(transcript, np.arange(len(session)), start, end),
        kind=kind,
        show_text=transcript.cut(session, start, end, leads),
        header_chars=np.fromiter(map(len, leads), np.int64, len(leads)),
        span=(start, end),
    )


def slice_texts(
    spec: RepresentationSpec, transcript: Transcript, *, kind: str, turn: Ints, spans: Sequence[tuple[int, int]]
) -> Units:
    """Make a unit of each span of a turn's own text; its lead is the session's date header and `speaker: `.

    Args:
        turn: the row of each span's turn, never decreasing.
        spans: code points within that turn's text.
    """
    start, end = np.array(spans, np.int64).reshape(-1, 2).T + transcript.text_start[turn]
    headers = transcript.headers_of(transcript.session_of(start))
    speakers = transcript.turns["speaker"].take(pa.array(turn)).to_pylist()
    leads = [header + spoken(name) for header, name in zip(headers, speakers, strict=True)]
    return slice_units(spec, transcript, kind=kind, start=start, end=end, leads=leads)


def with_columns(table: pa.Table, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The table with other values in some columns, under their own fields."""
    for name, column in columns.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        table = table.set_column(place, field, column.cast(field.type))
    return table


def unit_table(
    spec: RepresentationSpec,
    *,
    corpus: pa.Array | pa.ChunkedArray,
    conversation_id: pa.Array | pa.ChunkedArray,
    ordinal: Ints,
    kind: pa.Array,
    session_id: pa.Array | pa.ChunkedArray,
    show_text: list[str],
    key_text: list[str] | None = None,
    header_chars: Ints,
    span: tuple[Ints, Ints] | None = None,
    event_at: pa.Array | pa.ChunkedArray,
    speaker: pa.Array,
    attributes: pa.Array | None = None,
) -> pa.Table:
    """Rows of the table units, their ids derived from what they are; key_text is show_text unless it is given.

    Each argument has one entry a unit; `span` is in the conversations' canonical texts, None for units that are no slice.
    """
    rows = len(show_text)
    ids = content_ids(
        corpus.to_pylist(),
        conversation_id.to_pylist(),
        [spec.name] * rows,
        [spec.settings_hash] * rows,
        map(str, ordinal.tolist()),
        show_text,
    )
    text = pa.array(show_text, pa.string())
    key = text if key_text is None else pa.array(key_text, pa.string())
    empty = pa.nulls(rows)
    return pa.Table.from_arrays(
        [
            corpus, conversation_id, pa.repeat(spec.name, rows), pa.array(ids, pa.string()), ordinal, kind,
            session_id, key, text, header_chars, *(span or (empty, empty)), event_at, speaker,
            empty if attributes is None else attributes,
        ],
        names=UNITS.schema.names,
    ).cast(UNITS.schema)  # fmt: skip


def provenance_table(
    units: pa.Table,
    unit: Ints,
    *,
    turn_id: pa.Array | pa.ChunkedArray,
    ordinal: Ints,
    span: tuple[Ints, Ints] | tuple[pa.Array, pa.Array] | None,
    grounding: str | pa.Array,
    touches_text: Bools,
) -> pa.Table:
    """Rows of the table provenance, one entry of each argument a piece; `unit` is a row of `units`, never decreasing.

    A `grounding` that is text holds for every piece; a `span` with nulls leaves those pieces with their turn alone.
    """
    of = units.select(["corpus", "conversation_id", "representation", "unit_id"]).take(pa.array(unit))
    empty = pa.nulls(len(unit))
    columns = [
        *of.columns, rank_in_run(unit), turn_id, ordinal, *(span or (empty, empty)),
        pa.repeat(grounding, len(unit)) if isinstance(grounding, str) else grounding, touches_text,
    ]  # fmt: skip
    return pa.Table.from_arrays(columns, names=PROVENANCE.schema.names).cast(PROVENANCE.schema)
