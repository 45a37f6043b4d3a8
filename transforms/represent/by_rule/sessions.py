"""sessions: a unit a sitting, whole, with the line break after its last turn."""

import pyarrow as pa

from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.units import slice_units
from memlake.transforms.text.canonical import transcript_of


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make each session a unit."""
    transcript = transcript_of(turns)
    return slice_units(spec, transcript, kind="session", start=transcript.session_start, end=transcript.session_end)


SESSIONS = Representation("sessions", _build, {})
