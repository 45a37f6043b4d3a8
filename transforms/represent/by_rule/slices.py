"""Slices of the transcript as it stands, each a unit.

turns       a message: `speaker: text` without the line break after it
sessions    a session, whole, with the line break after its last turn
sentences   a sentence (transforms/text/sentences.py says where it ends) behind the date header and `speaker: `
"""

import numpy as np
import pyarrow as pa

from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.units import slice_texts, slice_units
from memlake.transforms.text.canonical import transcript_of
from memlake.transforms.text.sentences import sentence_spans


def _turns(spec: RepresentationSpec, turns: pa.Table) -> Units:
    transcript = transcript_of(turns)
    return slice_units(spec, transcript, kind="turn", start=transcript.start, end=transcript.text_end)


def _sessions(spec: RepresentationSpec, turns: pa.Table) -> Units:
    transcript = transcript_of(turns)
    return slice_units(spec, transcript, kind="session", start=transcript.session_start, end=transcript.session_end)


def _sentences(spec: RepresentationSpec, turns: pa.Table) -> Units:
    transcript = transcript_of(turns)
    of_turns = [sentence_spans(text) for text in transcript.turns["text"].to_pylist()]
    turn = np.repeat(np.arange(len(of_turns)), list(map(len, of_turns)))
    spans = [span for spans in of_turns for span in spans]
    return slice_texts(spec, transcript, kind="sentence", turn=turn, spans=spans)


TURNS = Representation("turns", _turns, {})
SESSIONS = Representation("sessions", _sessions, {})
SENTENCES = Representation("sentences", _sentences, {})
