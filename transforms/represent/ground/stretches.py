"""Stretches of text that a quote is looked for in, each of whose characters knows its place in the canonical text."""

from dataclasses import dataclass
from functools import cached_property

from memlake.transforms.represent.extract.pieces import Piece, PieceTurn
from memlake.transforms.represent.ground.folding import Folded, fold


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


def text_of(turn: PieceTurn) -> Stretch:
    """A turn's text."""
    return Stretch(turn.text, ((turn, 0, turn.start, len(turn.text)),))


def texts_of(piece: Piece, *, names: bool) -> Stretch:
    """All turns of a piece, a line each: with their speakers' names as in the canonical text, or without."""
    parts, lines, at = [], [], 0
    for turn in piece.turns:
        lead = f"{turn.speaker}: " if names else ""
        lines.append(lead + turn.text)
        parts.append((turn, at, turn.start - len(lead), len(lines[-1])))
        at += len(lines[-1]) + 1
    return Stretch("\n".join(lines), tuple(parts))
