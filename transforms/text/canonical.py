"""A batch of turns with its canonical text on one line, so that all offsets of a batch are plain integers.

The line is the canonical texts of the batch's conversations, end to end. Offsets on it are Unicode code points; less the
turn's `base` they are offsets in the conversation's own canonical text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Ints

_SAYS = ": "  # between a speaker and what they say
PREFIX_CHARS = len(_SAYS)  # of a turn's prefix, beside the speaker's name


@dataclass(frozen=True, slots=True)
class Transcript:
    """Turns of whole conversations on one line; arrays are parallel, one entry a turn, or a session where it says so.

    Attributes:
        base: where the turn's conversation starts.
        start, end: the turn's span: speaker prefix, text, line break.
        text_start, text_end: the span of its text alone.
        first_turn: of each session, the row of its first turn.
        session_start, session_end: each session's span; sessions tile the line.
        headers: each session's date header, empty when it is undated.
        lines: the turns as they stand on the line.
    """

    turns: pa.Table
    base: Ints
    start: Ints
    end: Ints
    text_start: Ints
    text_end: Ints
    first_turn: Ints
    session_start: Ints
    session_end: Ints
    headers: list[str]
    lines: pa.StringArray

    def session_texts(self) -> Iterator[str]:
        """The text of each session, decoded one at a time: a rare wide character widens one session only."""
        _, offsets, characters = self.lines.buffers()
        line = memoryview(characters) if characters else memoryview(b"")
        cuts = np.frombuffer(offsets, np.int32)[np.append(self.first_turn, len(self.lines))].tolist()
        return (str(line[start:end], "utf-8") for start, end in pairwise(cuts))

    def cut(self, session: Ints, start: Ints, end: Ints, leads: list[str]) -> list[str]:
        """Each lead followed by the slice [start, end) of the line; every slice lies in its session, in order."""
        starts, ends = (start - self.session_start[session]).tolist(), (end - self.session_start[session]).tolist()
        cuts = np.searchsorted(session, np.arange(len(self.headers) + 1)).tolist()
        texts: list[str] = []
        for text, of in zip(self.session_texts(), map(slice, cuts, cuts[1:]), strict=True):
            texts += [lead + text[a:b] for lead, a, b in zip(leads[of], starts[of], ends[of], strict=True)]
        return texts

    def session_of(self, at: Ints) -> Ints:
        """The session in which each of these code points of the line lies."""
        return np.searchsorted(self.session_end, at, side="right")

    def headers_of(self, session: Ints) -> list[str]:
        """The date header of each of these sessions."""
        return [self.headers[number] for number in session.tolist()]


def ints(column: pa.Array | pa.ChunkedArray) -> Ints:
    """A column of integers without nulls as int64."""
    return np.asarray(column.to_numpy(), np.int64)


def spoken(speaker: str, text: str = "") -> str:
    """A text behind its speaker, as turns stand on the line; without a text the prefix alone."""
    return f"{speaker}{_SAYS}{text}"


def header(label: str | None) -> str:
    """The date header that opens every unit of a session; empty when the session is undated."""
    return f"[{label}] " if label else ""


def rank_in_run(values: Ints) -> Ints:
    """The place of each entry within its run of equal neighbours, from 0."""
    places = np.arange(len(values))
    starts = np.flatnonzero(np.diff(values, prepend=-1) != 0) if len(values) else places
    return places - np.repeat(starts, np.diff(np.append(starts, len(values))))


def transcript_of(turns: pa.Table) -> Transcript:
    """Lay turns of whole conversations, sorted by (conversation_id, ordinal), on one line.

    Raises:
        ValueError: the turns' spans do not tile their canonical text: the batch is not of whole, sorted conversations.
    """
    turns = turns.combine_chunks()
    speaker, text = (turns[name].combine_chunks() for name in ("speaker", "text"))
    begins = ints(turns["ordinal"]) == 0
    ends = np.append(begins[1:], True)[: len(begins)]
    prefix = ints(pc.utf8_length(speaker)) + PREFIX_CHARS
    length = ints(pc.utf8_length(text))
    end = np.cumsum(prefix + length + ~ends)
    start = np.append(0, end)[: len(end)]
    base = start[np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))]
    for name, place in (("char_start", start), ("char_end", end)):
        if not np.array_equal(place - base, ints(turns[name])):
            raise ValueError(f"{name} of turns does not tile their text: expected whole conversations, by ordinal")
    opens = begins | (np.diff(ints(turns["session_ordinal"]), prepend=-1) != 0)
    first_turn = np.flatnonzero(opens)
    labels = turns["session_label"].take(pa.array(first_turn)).to_pylist()
    return Transcript(
        turns=turns,
        base=base,
        start=start,
        end=end,
        text_start=start + prefix,
        text_end=start + prefix + length,
        first_turn=first_turn,
        session_start=start[first_turn],
        session_end=np.append(start[first_turn[1:]], end[-1:]),
        headers=[header(label) for label in labels],
        lines=pc.binary_join_element_wise(speaker, _SAYS, text, pc.if_else(pa.array(ends), "", "\n"), ""),
    )
