"""Find a quote in the piece of a transcript that it is said to come from.

Tried in this order: to the character; folded (`fold`); nearly. Each first within the turns that the model cited, in
its order, then within the other turns, then across turns. Only whole words and numbers count (`cuts_word`): what starts or
ends amid one is found nearly, as whole words, or not at all. What is found nearly must hold the very numbers of the quote
and as many negations.

A quote of a few characters stands nearly everywhere, so it proves nothing by itself: it counts only as whole words of a
turn that the model cited; a speaker's name before it makes it no longer.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from memlake.transforms.represent.by_model.folding import Folded, cuts_word, fold, same_facts
from memlake.transforms.represent.by_model.pieces import Piece, PieceTurn

Grounding = Literal["exact", "normalised", "fuzzy", "none"]
# Below so many folded characters a quote is short; an ideograph counts twice, since it says as much.
SHORT_CHARS = 8
LEAST_FUZZY_CHARS = 16
LEAST_FUZZY_SCORE = 90.0
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# What models put around a quote, or after one that they break off.
_AROUND = "\"'. "


@dataclass(frozen=True, slots=True)
class Span:
    """Where a part of a quote stands: code points in the canonical text; null where only the turn is known."""

    turn: PieceTurn
    start: int | None
    end: int | None
    touches_text: bool = True


@dataclass(frozen=True)
class Stretch:
    """A text put together of parts of the canonical text.

    Attributes:
        parts: each turn with where its part starts in `text`, where in the canonical text, and how long it is.
    """

    text: str
    parts: tuple[tuple[PieceTurn, int, int, int], ...]

    @cached_property
    def folded(self) -> Folded:
        """The text folded."""
        return fold(self.text)

    def spans(self, at: int, past: int) -> tuple[Span, ...]:
        """The parts of the canonical text that a stretch of `text` is, one a turn."""
        spans = []
        for turn, place, start, length in self.parts:
            first, last = max(at, place), min(past, place + length)
            if first < last:
                low, high = start + first - place, start + last - place
                spans.append(Span(turn, low, high, max(low, turn.start) < min(high, turn.end)))
        return tuple(spans)


# Whether something is said in a stretch's part, from where to where in its text.
Saying = Callable[[Stretch, int, int], bool]
# Where a quote stands in a stretch's text.
Places = Callable[[Stretch], Iterator[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Grounded:
    """Where a quote was found, and how.

    Attributes:
        spans: one a turn that it touches, in order; for 'none' the turns that were cited, or all of the piece's.
        source: the quote as the source has it; '' for 'none'.
        occurrences: in how many places of the piece's turns it stands by the same measure; 0 for 'none'.
        score: 100, or how near a fuzzy one is; 0 for 'none'.
    """

    grounding: Grounding
    spans: tuple[Span, ...]
    source: str = ""
    occurrences: int = 0
    score: float = 0.0


@dataclass(frozen=True)
class Source:
    """A piece of a transcript, made ready for many quotes."""

    piece: Piece

    @cached_property
    def turns(self) -> list[Stretch]:
        """The turns one by one."""
        return [Stretch(turn.text, ((turn, 0, turn.start, len(turn.text)),)) for turn in self.piece.turns]

    @cached_property
    def whole(self) -> list[Stretch]:
        """All turns together, as the canonical text has them and without names; nothing for a single turn."""
        return [_joined(self.piece, names=names) for names in (True, False)] if len(self.turns) > 1 else []


def cited_turns(piece: Piece, numbers: Sequence[int]) -> list[int]:
    """The places in a piece, from 0, of the turns that a model cites by number, from 1; those that are not are left out."""
    return [int(number) - 1 for number in dict.fromkeys(numbers) if 1 <= number <= len(piece.turns)]


def ground(quote: str, source: Source, numbers: Sequence[int] = ()) -> Grounded:
    """Where a quote stands in a piece, by the quote as the model gave it and the numbers, from 1, of the turns it cites."""
    cited = cited_turns(source.piece, numbers)
    first = [source.turns[place] for place in cited]
    others = [stretch for place, stretch in enumerate(source.turns) if place not in set(cited)]
    groups = [first, others, source.whole]
    stretches = [stretch for group in groups for stretch in group]
    quote = quote.strip()
    said = _saying({source.piece.turns[place].ordinal for place in cited})
    exactly, found = partial(_places, quote), None
    if not _may_be_short(quote):
        found = _first("exact", exactly, stretches, source, said)
    if found is None:
        folded = fold(quote).text
        if _is_short(folded):
            found = _in_words(quote, folded, first, source)
        else:
            found = _first("exact", exactly, stretches, source, said)
            for text in dict.fromkeys((folded, folded.strip(_AROUND))):
                if found is None and not _is_short(text):
                    found = _first("normalised", partial(_folded_places, text), stretches, source, said)
            found = found or _nearly(folded, groups, said)
    if found:
        return found
    turns = [source.piece.turns[place] for place in sorted(cited)] or source.piece.turns
    return Grounded("none", tuple(Span(turn, None, None) for turn in turns))


def _saying(cited: Collection[int]) -> Saying:
    """Whether a stretch's part is more than speakers' names: what is said in it is no short quote, or of cited turns."""

    def said(stretch: Stretch, at: int, past: int) -> bool:
        spans = [span for span in stretch.spans(at, past) if span.touches_text]
        if not spans or all(span.turn.ordinal in cited for span in spans):
            return bool(spans)
        return not _is_short(fold(" ".join(map(_text_in, spans))).text)

    return said


def _text_in(span: Span) -> str:
    """What of a span is the turn's text."""
    assert span.start is not None
    assert span.end is not None
    return span.turn.text[max(span.start - span.turn.start, 0) : span.end - span.turn.start]


def _is_short(folded: str) -> bool:
    return len(folded) + len(_IDEOGRAPH.findall(folded)) < SHORT_CHARS


def _may_be_short(quote: str) -> bool:
    """Whether a quote could be short once folded: white space and signs that show nothing go."""
    return sum(map(str.isalnum, quote[: 8 * SHORT_CHARS])) < SHORT_CHARS


def _in_words(quote: str, folded: str, cited: Sequence[Stretch], source: Source) -> Grounded | None:
    """A short quote: whole words of a cited turn; without a letter or digit, all that the turn says."""
    if not any(map(str.isalnum, folded)):
        cited = [stretch for stretch in cited if folded and stretch.folded.text == folded]
    return _first("exact", partial(_places, quote), cited, source) or _first(
        "normalised", partial(_folded_places, folded), cited, source
    )


def _first(
    grounding: Grounding, places: Places, stretches: Sequence[Stretch], source: Source, said: Saying | None = None
) -> Grounded | None:
    """The first of a quote's places in these stretches that says something, counted over all turns."""
    for stretch in stretches:
        for at, past in places(stretch):
            if said is None or said(stretch, at, past):
                return _made(grounding, stretch, at, past, sum(1 for turn in source.turns for _ in places(turn)))
    return None


def _nearly(folded: str, groups: Sequence[Sequence[Stretch]], said: Saying) -> Grounded | None:
    if len(folded) < LEAST_FUZZY_CHARS:
        return None
    for group in groups:
        best: Grounded | None = None
        for stretch in group:
            found = _near(folded, stretch, said)
            if found and (best is None or found.score > best.score):
                best = found
        if best:
            return best
    return None


def _near(folded: str, stretch: Stretch, said: Saying) -> Grounded | None:
    """The stretch's part that is most like the quote; never a small part that the quote happens to contain."""
    from rapidfuzz import fuzz

    text = stretch.folded.text
    if len(text) >= len(folded):
        found = fuzz.partial_ratio_alignment(folded, text, score_cutoff=LEAST_FUZZY_SCORE)
        if found is None:
            return None
        at, past = _wider(folded, text, found.dest_start, found.dest_end)
    else:
        at, past = 0, len(text)
    at, past = _whole_words(stretch.folded, at, past)
    score = fuzz.ratio(folded, text[at:past], score_cutoff=LEAST_FUZZY_SCORE)
    if score < LEAST_FUZZY_SCORE or not same_facts(folded, text[at:past]):
        return None
    span = stretch.folded.span(at, past)
    # What differs only at its ends is as like as can be, and yet not the same.
    return _made("fuzzy", stretch, *span, 1, min(score, 99.9)) if said(stretch, *span) else None


def _wider(folded: str, text: str, at: int, past: int) -> tuple[int, int]:
    """An alignment's part of a text and the quote's first and last words beside it.

    The part is about as long as the quote: of 'I sell' in 'I never sell' it may leave out what stands before 'sell'.
    """
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Indel

    more = max(len(folded) // 5, LEAST_FUZZY_CHARS)
    low, high = max(at - more, 0), min(past + more, len(text))
    words = []
    for block in Indel.opcodes(folded, text[low:high]):
        if block.tag != "equal":
            continue
        first, last = low + block.dest_start, low + block.dest_end
        cut = cuts_word(folded, block.src_start) or cuts_word(text, first)
        if not cut and not cuts_word(folded, block.src_end) and not cuts_word(text, last):
            words.append((first, last))
    if not words:
        return at, past
    first, last = min(at, words[0][0]), max(past, words[-1][1])
    return (first, last) if fuzz.ratio(folded, text[first:last]) >= LEAST_FUZZY_SCORE else (at, past)


def _whole_words(folded: Folded, at: int, past: int) -> tuple[int, int]:
    """A part of a folded text without space around it, and without a cut word or sign."""
    text, start = folded.text, folded.start
    while at < past and text[at] == " ":
        at += 1
    while at < past and text[past - 1] == " ":
        past -= 1
    while cuts_word(text, at) or (at and start[at - 1] == start[at]):
        at -= 1
    while cuts_word(text, past) or (past < len(text) and start[past - 1] == start[past]):
        past += 1
    return at, past


def _made(
    grounding: Grounding, stretch: Stretch, at: int, past: int, occurrences: int, score: float = 100.0
) -> Grounded:
    # A quote that crosses turns stands in none of them.
    return Grounded(grounding, stretch.spans(at, past), stretch.text[at:past], max(1, occurrences), score)


def _places(quote: str, stretch: Stretch) -> Iterator[tuple[int, int]]:
    """Where a quote stands in a stretch to the character, as whole words."""
    for at, past in _found(quote, stretch.text):
        if not cuts_word(stretch.text, at) and not cuts_word(stretch.text, past):
            yield at, past


def _folded_places(folded: str, stretch: Stretch) -> Iterator[tuple[int, int]]:
    """The spans in a stretch's text where a folded quote stands, as whole words; none within one sign, as in 'ﬁ'."""
    within = stretch.folded
    for at, past in _found(folded, within.text):
        if at and within.start[at - 1] == within.start[at]:
            continue
        if past < len(within.text) and within.start[past] == within.start[past - 1]:
            continue
        span = within.span(at, past)
        if not cuts_word(stretch.text, span[0]) and not cuts_word(stretch.text, span[1]):
            yield span


def _found(quote: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(quote) if quote else -1
    while at >= 0:
        yield at, at + len(quote)
        at = text.find(quote, at + 1)


def _joined(piece: Piece, *, names: bool) -> Stretch:
    """All turns of a piece, a line each: with their speakers' names as in the canonical text, or without."""
    parts, lines, at = [], [], 0
    for turn in piece.turns:
        lead = f"{turn.speaker}: " if names else ""
        lines.append(lead + turn.text)
        parts.append((turn, at, turn.start - len(lead), len(lines[-1])))
        at += len(lines[-1]) + 1
    return Stretch("\n".join(lines), tuple(parts))
