"""sessions: a unit a sitting, whole, with the line break after its last turn."""

import numpy as np
import pyarrow as pa

from transforms.represent.representation import Making, Representation, Units
from transforms.represent.slices import slice_units
from transforms.represent.transcript import transcript_of


def build_sessions(making: Making, turns: pa.Table) -> Units:
    """Make each session a unit."""
    transcript = transcript_of(turns)
    return slice_units(
        making,
        transcript,
        kind="session",
        session=np.arange(len(transcript.headers)),
        start=transcript.session_start,
        end=transcript.session_end,
    )


SESSIONS = Representation("sessions", build_sessions, {})
