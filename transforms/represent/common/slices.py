"""Slices: units that are one stretch of the canonical text behind a lead."""

import numpy as np

from memlake.transforms.base.arrays import Ints
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.common.units import finish, split_by_turn
from memlake.transforms.text.canonical import Transcript


def slice_units(
    making: RepresentationSpec,
    transcript: Transcript,
    *,
    kind: str,
    session: Ints,
    start: Ints,
    end: Ints,
    leads: list[str] | None = None,
) -> Units:
    """Make a unit of each span [start, end) of the transcript's line, with exact provenance.

    Args:
        making: what is being made.
        transcript: the batch that it is made from.
        kind: of all these units.
        session: the session that each span lies in, in order.
        start: first code point on the line.
        end: one past the last.
        leads: what stands before each slice; the session's date header when not given.
    """
    leads = transcript.headers_of(session) if leads is None else leads
    return finish(
        making,
        transcript,
        split_by_turn(transcript, np.arange(len(session)), start, end),
        kind=kind,
        show_text=transcript.cut(session, start, end, leads),
        header_chars=np.fromiter(map(len, leads), np.int64, len(leads)),
        span=(start, end),
    )
