"""sentences: a unit a sentence, its speaker named before it.

A sentence ends after a run of . ! ? or … and the quotes and brackets that close with it, where white space follows; after
a run of 。 ！ ？ or ｡ with or without white space; and at a line break. A full stop after a single letter or a title (J.,
e.g., p.m., Dr., Mrs.) ends none. So 'at 5 p.m. Then' stays one sentence: the price of a rule without a dictionary.
"""

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa

from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.slices import slice_units
from memlake.transforms.text.canonical import transcript_of

_CLOSERS = r"""["'”’»)\]}」』）】》]*"""
_INITIALS = "".join(rf"(?<!\b{title}\.)" for title in (r"\w", "Mr", "Mrs", "Ms", "Dr", "St", "vs"))
# What it was that ended the sentence is asked afterwards: a pattern that opens with a set is searched for fast.
_END = re.compile(
    r"[.!?…。！？｡\n\r\u0085\u2028\u2029]"
    rf"(?:(?<=[.!?…]){_INITIALS}[.!?…]*{_CLOSERS}(?=\s)"
    rf"|(?<=[。！？｡])[。！？｡.!?…]*{_CLOSERS}"
    r"|(?<=[\n\r\u0085\u2028\u2029]))"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a text, in code points; between them and around them is white space only."""
    spans = []
    for start, end in pairwise([0, *(match.end() for match in _END.finditer(text)), len(text)]):
        piece = text[start:end]
        kept = piece.strip()
        if kept:
            left = start + len(piece) - len(piece.lstrip())
            spans.append((left, left + len(kept)))
    return spans


def build_sentences(making: RepresentationSpec, turns: pa.Table) -> Units:
    """Make each sentence of each turn a unit; its lead is the date header and `speaker: `."""
    transcript = transcript_of(turns)
    spans = [sentence_spans(text) for text in transcript.turns["text"].to_pylist()]
    turn = np.repeat(np.arange(len(spans)), [len(of_turn) for of_turn in spans])
    within = np.array([span for of_turn in spans for span in of_turn], np.int64).reshape(-1, 2)
    start, end = within.T + transcript.text_start[turn]
    session = np.searchsorted(transcript.session_end, start, side="right")
    speakers = transcript.turns["speaker"].take(pa.array(turn)).to_pylist()
    leads = [f"{header}{name}: " for header, name in zip(transcript.headers_of(session), speakers, strict=True)]
    return slice_units(making, transcript, kind="sentence", session=session, start=start, end=end, leads=leads)


SENTENCES = Representation("sentences", build_sentences, {})
