"""sentences: a unit a sentence (transforms/text/sentences.py says where it ends), its speaker named before it."""

import numpy as np
import pyarrow as pa

from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.units import slice_texts
from memlake.transforms.text.canonical import transcript_of
from memlake.transforms.text.sentences import sentence_spans


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make each sentence of each turn a unit; its lead is the date header and `speaker: `."""
    transcript = transcript_of(turns)
    of_turns = [sentence_spans(text) for text in transcript.turns["text"].to_pylist()]
    turn = np.repeat(np.arange(len(of_turns)), list(map(len, of_turns)))
    return slice_texts(
        spec, transcript, kind="sentence", turn=turn, spans=[span for spans in of_turns for span in spans]
    )


SENTENCES = Representation("sentences", _build, {})
