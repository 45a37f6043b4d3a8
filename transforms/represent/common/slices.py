"""Slices: units that are one stretch of the canonical text behind a lead."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from memlake.transforms.base.arrays import Ints
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.common.units import finish, split_by_turn
from memlake.transforms.text.canonical import Transcript, spoken


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
        spec: what is made.
        transcript: the batch that it is made from.
        kind: of all these units.
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
        spec: what is made.
        transcript: the batch that it is made from.
        kind: of all these units.
        turn: the row of each span's turn, never decreasing.
        spans: code points within that turn's text.
    """
    start, end = np.array(spans, np.int64).reshape(-1, 2).T + transcript.text_start[turn]
    headers = transcript.headers_of(transcript.session_of(start))
    speakers = transcript.turns["speaker"].take(pa.array(turn)).to_pylist()
    leads = [header + spoken(name) for header, name in zip(headers, speakers, strict=True)]
    return slice_units(spec, transcript, kind=kind, start=start, end=end, leads=leads)
