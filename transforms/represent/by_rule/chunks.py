"""chunks: slices of a fixed number of characters that overlap and never cross a session border."""

import numpy as np
import pyarrow as pa

from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.errors import UsageError
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Settings, Units
from memlake.transforms.represent.common.units import slice_units
from memlake.transforms.text.canonical import rank_in_run, transcript_of


def check_overlap(settings: Settings, *, shortest: int) -> None:
    """Raise UsageError for a size below 1, or an overlap not below the length of the shortest chunk that another follows."""
    size, overlap = int(settings["size"]), int(settings["overlap"])
    if size < 1:
        raise UsageError(f"chunk size={size} is not allowed: at least 1 character", hint="the default is size=512")
    if not 0 <= overlap < shortest:
        raise UsageError(
            f"chunk overlap={overlap} is not allowed with size={size}: from 0 to {shortest - 1}",
            hint="the defaults are size=512,overlap=100",
        )


def chunk_spans(session_start: Ints, session_end: Ints, *, size: int, overlap: int) -> tuple[Ints, Ints, Ints]:
    """Spans of chunks that cover every session without a gap: (session, start, end), one entry a chunk.

    Chunks start `size - overlap` apart; the first that reaches the session's end is the last, so none lies in another.
    """
    length, step = session_end - session_start, size - overlap
    counts = np.where(length > 0, 1 + np.maximum(0, -((size - length) // step)), 0)
    session = np.repeat(np.arange(len(length)), counts)
    start = session_start[session] + rank_in_run(session) * step
    return session, start, np.minimum(start + size, session_end[session])


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Cut the canonical text of every session into overlapping chunks; sizes are in code points."""
    transcript = transcript_of(turns)
    _, start, end = chunk_spans(
        transcript.session_start,
        transcript.session_end,
        size=int(spec.settings["size"]),
        overlap=int(spec.settings["overlap"]),
    )
    return slice_units(spec, transcript, kind="chunk", start=start, end=end)


CHUNKS = Representation(
    "chunks",
    _build,
    {"size": 512, "overlap": 100},
    check=lambda settings: check_overlap(settings, shortest=int(settings["size"])),
)
