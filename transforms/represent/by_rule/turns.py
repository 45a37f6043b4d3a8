"""turns: a unit a message, `speaker: text` without the line break after it."""

import pyarrow as pa

from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.units import slice_units
from memlake.transforms.text.canonical import transcript_of


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make each turn a unit."""
    transcript = transcript_of(turns)
    return slice_units(spec, transcript, kind="turn", start=transcript.start, end=transcript.text_end)


TURNS = Representation("turns", _build, {})
