"""turns: a unit a message, `speaker: text` without the line break after it."""

import numpy as np
import pyarrow as pa

from transforms.represent.representation import Making, Representation, Units
from transforms.represent.slices import slice_units
from transforms.represent.transcript import transcript_of


def build_turns(making: Making, turns: pa.Table) -> Units:
    """Make each turn a unit."""
    transcript = transcript_of(turns)
    session = np.searchsorted(transcript.session_end, transcript.start, side="right")
    start, end = transcript.start, transcript.text_end
    return slice_units(making, transcript, kind="turn", session=session, start=start, end=end)


TURNS = Representation("turns", build_turns, {})
