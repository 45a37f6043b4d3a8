"""chunks_published: the verbatim chunks of a published comparison, as its code makes them, with a switch for each defect.

Messages are folded into turns of two sides (turn_pairs.py), written a batch of 40 turns at a time with prefixes
(written_pairs.py) and cut into windows of 512 characters that overlap by 100; a window that does not end its batch ends
after the last line break of its last fifth. Chunks are stored stripped. Source: arXiv 2601.00821 version 3 and the code of
tao-hpu/cog-canvas. The defaults are what was published; each setting mends one thing alone:

    folds=within_sessions   no turn mixes two sessions (and takes the later date)
    user=NAME+NAME+...      whose messages open turns, where that is not the first speaker
    speakers=names          who speaks, in place of User and Assistant
    captions=keep           what a shared image shows stays
    pads=drop               no '[No response]' and '[Continued]', which nobody said
    batch=0                 a conversation is one text: no short chunk at the end of a batch
    overlap=0               no text stands twice
    header=every            the session date before every chunk, not in the text of the one that holds a turn's head
"""

import numpy as np
import pyarrow as pa

from memlake.transforms.represent.as_published.written_pairs import (
    WRITTEN_SETTINGS,
    check_written_settings,
    write_pairs,
)
from memlake.transforms.represent.as_published.written_units import written_units
from memlake.transforms.represent.by_rule.chunks import check_overlap
from memlake.transforms.represent.common.checks import check_choices
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Settings, Units
from memlake.transforms.text.canonical import header, transcript_of

HEADERS = ("first", "every")


def _check(settings: Settings) -> None:
    check_written_settings(settings)
    check_choices(settings, header=HEADERS)
    size = int(settings["size"])
    check_overlap(settings, shortest=size - _reach(size))


def windows(text: str, *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Spans of the windows of a text, stripped; those of white space alone are left out.

    A window is `size` characters; one that does not end the text ends after the last line break of its last fifth, if
    there is one. The next starts `overlap` characters before that end.
    """
    spans, start = [], 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            end = text.rfind("\n", end - _reach(size), end) + 1 or end
        window = text[start:end]
        kept = window.strip()
        if kept:
            left = start + len(window) - len(window.lstrip())
            spans.append((left, left + len(kept)))
        start = end - overlap if end < len(text) else end
    return spans


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Cut each batch of folded turns into chunks; attributes tell the batch and the turns that a chunk holds a part of."""
    size, overlap = int(spec.settings["size"]), int(spec.settings["overlap"])
    every = spec.settings["header"] == "every"
    written = write_pairs(transcript_of(turns), spec.settings, dates=not every)
    of_batch = [windows(text, size=size, overlap=overlap) for text in written.texts]
    batch = np.repeat(np.arange(len(of_batch)), list(map(len, of_batch)))
    spans = np.array([span for spans in of_batch for span in spans], np.int64).reshape(-1, 2)
    start, end = spans.T + np.array(written.base, np.int64)[batch]
    labels = written.transcript.turns["session_label"].take(pa.array(written.pairs.dated)).to_pylist()
    leads = [
        header(next((labels[pair] for pair in of_it if labels[pair]), None)) if every else ""
        for of_it in written.turns_in(start, end)
    ]
    numbers = written.numbers()
    attributes = [{"batch": numbers[place]} for place in batch.tolist()]
    return written_units(spec, written, kind="chunk", start=start, end=end, leads=leads, attributes=attributes)


def _reach(size: int) -> int:
    """How far from a window's end a line break is looked for: a fifth."""
    return size // 5


CHUNKS_PUBLISHED = Representation(
    "chunks_published",
    _build,
    {**WRITTEN_SETTINGS, "size": 512, "overlap": 100, "header": HEADERS[0]},
    check=_check,
)
