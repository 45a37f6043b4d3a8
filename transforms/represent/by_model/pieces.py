"""Pieces: the stretches of a conversation that a model is shown, one at a time.

Every turn lies in exactly one piece, in its order, and no piece crosses a session border but a batch: a run of so many turns
of two sides (transforms/text/turn_pairs.py), as published studies ask. An exchange opens with the turns of whoever asks
(role user; the session's first speaker where nobody has that role) and ends before they ask again.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa

from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.prompting import data_block
from memlake.transforms.represent.common.representation import Settings
from memlake.transforms.text.canonical import spoken
from memlake.transforms.text.turn_pairs import FIRST, FOLDS, fold_turns

GRANULARITIES = ("turn", "exchange", "session", "turns")
# The one whose pieces may cross session borders.
BATCH = "batch"
# In which a piece's turns are shown: see `transcript_block`.
ORDERS = ("spoken", "by_side")
# A turn shorter than this is not cut in two: what a model cannot do with so little it cannot do with less.
LEAST_CUT_CHARS = 400
_COLUMNS = (
    "corpus", "conversation_id", "ordinal", "session_id", "session_label", "session_at", "turn_id",
    "speaker", "role", "text", "said_at", "char_start",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PieceTurn:
    """A turn as a piece holds it: its whole text, or the part of it that is left when a long one is cut.

    Attributes:
        at: when it was said, else when its session took place.
        start: where `text` starts in the conversation's canonical text, in code points.
        whole: whether `text` is the turn's whole text.
        is_user: whether it is of the user's side of the talk.
        session_id, session_label: its session, and that session's date as the source prints it.
    """

    ordinal: int
    turn_id: str
    speaker: str
    role: str
    text: str
    at: datetime | None
    start: int
    whole: bool = True
    is_user: bool = False
    session_id: str | None = None
    session_label: str | None = None

    @property
    def end(self) -> int:
        """One past the last code point of `text` in the canonical text."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring turns of one session, or of several in a batch.

    Attributes:
        context: turns just before it in the session, shown but not extracted from.
        context_turns: how many of these are wanted; there are fewer where the session starts.
    """

    corpus: str
    conversation_id: str
    turns: tuple[PieceTurn, ...]
    context: tuple[PieceTurn, ...] = ()
    context_turns: int = 0

    @property
    def spans_sessions(self) -> bool:
        """Whether its turns are of several sessions."""
        return self.turns[0].session_id != self.turns[-1].session_id

    @property
    def session_id(self) -> str | None:
        """The session of its turns; None when they are of several."""
        return None if self.spans_sessions else self.turns[0].session_id

    @property
    def session_label(self) -> str | None:
        """The session's date as the source prints it; None when its turns are of several."""
        return None if self.spans_sessions else self.turns[0].session_label

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing in it to ask about."""
        return not any(turn.text.strip() for turn in self.turns)

    @property
    def chars(self) -> int:
        """Code points of its turns' texts."""
        return sum(len(turn.text) for turn in self.turns)

    @property
    def speakers(self) -> tuple[str, ...]:
        """Who speaks in it, in order of appearance."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns))

    @property
    def about(self) -> str:
        """What a message calls it: "conversation 'c1', turns 4-9"."""
        first, last = self.turns[0].ordinal, self.turns[-1].ordinal
        where = f"turn {first}" if first == last else f"turns {first}-{last}"
        if all(turn.whole for turn in self.turns):
            return f"conversation {self.conversation_id!r}, {where}"
        return f"conversation {self.conversation_id!r}, {where} (characters {self.turns[0].start}-{self.turns[-1].end})"


def check_piece_settings(settings: Settings) -> None:
    """Raise UsageError for a granularity that there is not, and counts that make no piece."""
    granularity, turns, context = settings["granularity"], int(settings["turns"]), int(settings["context"])
    if granularity not in (*GRANULARITIES, BATCH):
        raise UsageError(
            f"granularity={granularity!r} is not one of {', '.join((*GRANULARITIES, BATCH))}",
            hint="the default is granularity=session; granularity=turns and granularity=batch go with turns=N",
        )
    if turns < 1 or context < 0:
        raise UsageError(
            f"turns={turns}, context={context} is not allowed: at least 1 turn, at least 0 before it",
            hint="the defaults are turns=20,context=0",
        )


def pieces_of(
    turns: pa.Table,
    *,
    granularity: str,
    count: int = 20,
    context: int = 0,
    folds: str = FOLDS[0],
    user: str = FIRST,
) -> list[Piece]:
    """Cut turns of whole conversations, sorted by (conversation_id, ordinal), into pieces; every turn lies in one.

    Args:
        granularity: turn, exchange, session, or turns: runs of `count`, the last of a session what is left; or batch:
            runs of `count` folded turns, across sessions.
        context: how many turns before a piece, in its session (for batch, in its conversation), are shown with it.
        folds, user: how turns are folded, and whose they are (see `fold_turns`).
    """
    pairs = fold_turns(turns, folds=folds, user=user)
    batch = pairs.batches(count)[pairs.pair].tolist()
    rows = zip(turns.select(_COLUMNS).to_pylist(), pairs.is_user.tolist(), batch, strict=True)

    def home(row: tuple[dict[str, Any], bool, int]) -> tuple[str, str, str | None]:
        return row[0]["corpus"], row[0]["conversation_id"], None if granularity == BATCH else row[0]["session_id"]

    pieces: list[Piece] = []
    for (corpus, conversation, _), group in groupby(rows, key=home):
        numbered = [(_turn_of(row, is_user=asks), number) for row, asks, number in group]
        here = tuple(turn for turn, _ in numbered)
        cuts = _cuts(here, granularity, count, [number for _, number in numbered])
        for start, end in pairwise([0, *cuts, len(here)]):
            before = here[max(0, start - context) : start]
            pieces.append(Piece(corpus, conversation, here[start:end], before, context))
    return pieces


def halves(piece: Piece) -> tuple[Piece, Piece] | None:
    """Cut a piece in two of about equal text: between turns, or a single turn at a space near its middle.

    Returns None for a single turn of less than LEAST_CUT_CHARS code points.
    """
    if len(piece.turns) > 1:
        cut = _middle_turn(piece.turns)
        left, right = piece.turns[:cut], piece.turns[cut:]
    else:
        (turn,) = piece.turns
        if len(turn.text) < LEAST_CUT_CHARS:
            return None
        at = middle_of(turn.text)
        left = (replace(turn, text=turn.text[:at], whole=False),)
        right = (replace(turn, text=turn.text[at:], start=turn.start + at, whole=False),)
    before = (*piece.context, *left)
    context = before[len(before) - min(piece.context_turns, len(before)) :]
    return replace(piece, turns=left), replace(piece, turns=right, context=context)


def middle_of(text: str) -> int:
    """Where to cut a text: after the white space nearest its middle, else at the middle.

    Not before a mark, unless nothing but marks is near: a cut far from the middle would leave pieces without end.
    """
    middle, reach = len(text) // 2, len(text) // 4
    for away in range(reach):
        for at in (middle + away, middle - away):
            if text[at - 1].isspace() and not text[at].isspace():
                return at
    return next((at for at in range(middle, middle + reach) if not _clings(text, at)), middle)


def _clings(text: str, at: int) -> bool:
    """Whether the character at a place belongs to the one before it: an accent, a joined emoji."""
    return unicodedata.category(text[at])[0] == "M" or "\u200d" in text[at - 1 : at + 1]


def _middle_turn(turns: Sequence[PieceTurn]) -> int:
    """Before which turn the text is cut most evenly; from 1."""
    total, so_far, best = sum(len(turn.text) for turn in turns), 0, (-1, 1)
    for place, turn in enumerate(turns[:-1], 1):
        so_far += len(turn.text)
        uneven = abs(total - 2 * so_far)
        if best[0] < 0 or uneven < best[0]:
            best = (uneven, place)
    return best[1]


def _turn_of(row: dict[str, Any], *, is_user: bool) -> PieceTurn:
    return PieceTurn(
        row["ordinal"],
        row["turn_id"],
        row["speaker"],
        row["role"],
        row["text"],
        row["said_at"] or row["session_at"],
        row["char_start"] + len(spoken(row["speaker"])),
        is_user=is_user,
        session_id=row["session_id"],
        session_label=row["session_label"],
    )


def _cuts(turns: tuple[PieceTurn, ...], granularity: str, count: int, batch: Sequence[int]) -> list[int]:
    """Before which turns a piece begins, but for the first."""
    places = range(1, len(turns))
    if granularity == "session":
        return []
    if granularity == "turn":
        return list(places)
    if granularity == "turns":
        # Counted from the start, not evenly: when a session grows, its earlier pieces were asked about already.
        return list(range(count, len(turns), count))
    if granularity == BATCH:
        return [place for place in places if batch[place] != batch[place - 1]]
    has_user = any(turn.role == "user" for turn in turns)
    opens = [turn.role == "user" if has_user else turn.speaker == turns[0].speaker for turn in turns]
    return [place for place in places if opens[place] and not opens[place - 1]]


def transcript_block(piece: Piece, order: str = ORDERS[0]) -> str:
    """A piece as a model is shown it: data between marks that the data cannot hold; turns count from 1 as spoken.

        <transcript-5f1c9a2e8b7d4036>
        {"session_date": "8 May, 2023", "speakers": ["Ann", "Bo"]}
        {"before": true, "speaker": "Bo", "text": "shown for context only"}
        {"turn": 1, "speaker": "Ann", "text": "..."}
        </transcript-5f1c9a2e8b7d4036>

    Where a piece spans several sessions the first line names none and the lines of turns have a session_date of their own.
    With order=by_side the lines of the user's side stand before all others, each under its number in the talk, and they
    alone have one: so published studies ask.

    Each line is a JSON object, so a line break, a quote or a mark within a text stays within its string. The digits of
    the mark are a hash of what is between them, so that nobody who writes a message can know them.
    """
    numbered = list(enumerate(piece.turns, 1))
    if order == "by_side":
        numbered.sort(key=lambda line: not line[1].is_user)
    dates: dict[str, object] = {} if piece.spans_sessions else {"session_date": piece.session_label}

    def dated(turn: PieceTurn) -> dict[str, object]:
        is_dated = piece.spans_sessions and (turn.is_user or order == "spoken")
        return {"session_date": turn.session_label} if is_dated else {}

    return data_block(
        "transcript",
        [
            {**dates, "speakers": piece.speakers},
            *({"before": True, "speaker": turn.speaker, "text": turn.text} for turn in piece.context),
            *({"turn": number, **dated(turn), "speaker": turn.speaker, "text": turn.text} for number, turn in numbered),
        ],
    )
