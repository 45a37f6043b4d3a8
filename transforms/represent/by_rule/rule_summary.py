"""rule_summary: a summary that loses things on purpose, by rule, so that a loss can be shown without a model.

Of every turn it keeps the first clause: up to the first mark or qualifier (except, until, because, ...) that `least_words`
words precede, and never more than `most_words` words. What follows the first comma is gone: that is what it is for.
Ideographs and kana count as a word each.
"""

import re
from itertools import islice

import numpy as np
import pyarrow as pa

from memlake.transforms.base.errors import UsageError
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Settings, Units
from memlake.transforms.represent.common.units import finish, split_by_turn
from memlake.transforms.text.canonical import spoken, transcript_of

_CUT = re.compile(
    r"[.,;:!?()…，、；：。！？（）｡\n\r]|\s[-–—]+\s"
    r"|\b(?:although|and|because|but|except|however|if|only|provided|since|so|though|unless|until|when|where|which|while|who)\b",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’][^\W\u3040-\u30ff\u3400-\u9fff]+)*"
)


def clause_end(text: str, *, least_words: int, most_words: int) -> int:
    """Where the kept clause of a text ends, in code points; the end of the text when nothing cuts it short."""
    ends = [word.end() for word in islice(_WORD.finditer(text), most_words + 1)]
    stop = ends[most_words - 1] if len(ends) > most_words else len(text)
    if len(ends) >= least_words:
        cut = _CUT.search(text, ends[least_words - 1], stop)
        stop = cut.start() if cut else stop
    return len(text[:stop].rstrip())


def _check(settings: Settings) -> None:
    least, most = int(settings["least_words"]), int(settings["most_words"])
    if not 1 <= least <= most:
        raise UsageError(
            f"least_words={least}, most_words={most} is not allowed: 1 <= least_words <= most_words",
            hint="the defaults are least_words=4,most_words=12",
        )


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make each session a unit: its date header and, a line a turn, `speaker: first clause`."""
    least, most = int(spec.settings["least_words"]), int(spec.settings["most_words"])
    transcript = transcript_of(turns)
    texts = transcript.turns["text"].to_pylist()
    kept = [clause_end(text, least_words=least, most_words=most) for text in texts]
    speakers = transcript.turns["speaker"].to_pylist()
    lines = [spoken(name, text[:end]) for name, text, end in zip(speakers, texts, kept, strict=True)]
    rows = np.append(transcript.first_turn, len(lines))
    shown = [
        header + "\n".join(lines[first:past])
        for header, first, past in zip(transcript.headers, rows.tolist(), rows[1:].tolist(), strict=False)
    ]
    session = np.repeat(np.arange(len(shown)), np.diff(rows))
    kept_end = transcript.text_start + np.array(kept, np.int64)
    return finish(
        spec,
        transcript,
        split_by_turn(transcript, session, transcript.start, kept_end),
        kind="summary",
        show_text=shown,
        header_chars=np.fromiter(map(len, transcript.headers), np.int64, len(shown)),
        span=None,
    )


RULE_SUMMARY = Representation("rule_summary", _build, {"least_words": 4, "most_words": 12}, check=_check)
