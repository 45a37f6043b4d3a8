"""turns: a unit a message, `speaker: text` without the line break after it."""

import numpy as np
import pyarrow as pa

from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.slices import slice_units
from memlake.transforms.text.canonical import transcript_of


def build_turns(making: RepresentationSpec, turns: pa.Table) -> Units:
    """Make each turn a unit."""
    transcript = transcript_of(turns)
    session = np.searchsorted(transcript.session_end, transcript.start, side="right")
    start, end = transcript.start, transcript.text_end
    return slice_units(making, transcript, kind="turn", session=session, start=start, end=end)


TURNS = Representation("turns", build_turns, {})
