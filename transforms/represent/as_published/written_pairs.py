r"""Write turns of two sides as one text a batch, and keep account of which of its characters the source says, and where.

    [Turn 3 (Session: 8 May, 2023)] User: ...\nAssistant: ...\n\n        order=spoken
    [Turn 3 (Session: 8 May, 2023)] ...\n ... \n[Turn 3] ...\n           order=by_side: all users' sides, then the others

What is put around the messages (prefixes, names, pads) is no part of the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from memlake.transforms.base.arrays import Ints
from memlake.transforms.represent.common.checks import check_choices, check_least
from memlake.transforms.represent.common.representation import Settings
from memlake.transforms.text.canonical import Transcript, spoken
from memlake.transforms.text.turn_pairs import FIRST, FOLDS, Pairs, fold_turns

SPEAKERS = ("roles", "names")
CAPTIONS = ("drop", "keep")
PADS = ("keep", "drop")
# The settings of every representation that is cut out of such a text.
WRITTEN_SETTINGS: Settings = {
    "folds": FOLDS[0], "user": FIRST, "speakers": SPEAKERS[0], "captions": CAPTIONS[0], "pads": PADS[0], "batch": 40,
}  # fmt: skip
_ROLES = ("User", "Assistant")
_PADS = ("[Continued]", "[No response]")


@dataclass(slots=True)
class Written:
    """Texts of batches, end to end on a line; offsets are code points on it.

    Attributes:
        base: where each text starts.
        pairs: what was folded.
        source: rows (start, end, message) of what the source says, in order.
        sides: rows (start, end, turn) of what was written of each turn, in order.
        batch: of each turn.
    """

    transcript: Transcript
    pairs: Pairs
    batch: Ints
    texts: list[str] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    source: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    sides: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    def turns_in(self, start: Ints, end: Ints) -> list[list[int]]:
        """The turns, in order, that each stretch [start, end) of the line holds any character of, prefixes too."""
        first = np.searchsorted(self.sides[:, 1], start, side="right").tolist()
        past = np.searchsorted(self.sides[:, 0], end, side="left").tolist()
        return [sorted(set(self.sides[low:high, 2].tolist())) for low, high in zip(first, past, strict=True)]

    def text_of(self, start: int, end: int) -> str:
        """The stretch [start, end) of the line; it lies in one text."""
        place = int(np.searchsorted(self.base, start, side="right")) - 1
        return self.texts[place][start - self.base[place] : end - self.base[place]]

    def numbers(self) -> list[int]:
        """The place of each text in its conversation, from 1."""
        opens = np.diff(self.batch, prepend=-1) != 0
        begins = self.pairs.number[opens] == 1
        places = np.arange(len(begins))
        return (places - np.maximum.accumulate(np.where(begins, places, 0)) + 1).tolist()


def check_written_settings(settings: Settings) -> None:
    """Raise UsageError for ways to write turns that there are not."""
    check_choices(settings, folds=FOLDS, speakers=SPEAKERS, captions=CAPTIONS, pads=PADS)
    check_least(settings, "batch", 0, default=40, allowed="at least 1 turn, or 0 for no batches")


def write_pairs(transcript: Transcript, settings: Settings, *, dates: bool = True, order: str = "spoken") -> Written:
    """Write the messages of whole conversations by the settings folds, user, speakers, captions, pads and batch.

    Args:
        dates: whether a turn's prefix has the date of its session.
        order: spoken, or by_side.
    """
    turns = transcript.turns
    pairs = fold_turns(turns, folds=str(settings["folds"]), user=str(settings["user"]))
    written = Written(transcript, pairs, pairs.batches(int(settings["batch"])))
    texts = turns["text"].to_pylist()
    if settings["captions"] == "drop":
        texts = [text[:own] for text, own in zip(texts, turns["source_chars"].to_pylist(), strict=True)]
    names = turns["speaker"].to_pylist() if settings["speakers"] == "names" else None
    labels = turns["session_label"].to_pylist()
    past = np.append(pairs.first[1:], len(texts))[: len(pairs.first)]
    members = list(map(range, pairs.first.tolist(), past.tolist()))
    dated = [labels[row] if dates else None for row in pairs.dated.tolist()]
    writer = _Writer(texts, names, pads=settings["pads"] == "keep")
    speakers = _usual(pairs, turns["speaker"].to_pylist())
    of_batch = np.split(np.arange(len(members)), np.flatnonzero(np.diff(written.batch)) + 1) if members else []
    for numbers in of_batch:
        written.base.append(writer.at)
        sides = [
            (int(pair), [[row for row in members[pair] if pairs.is_user[row] == asks] for asks in (True, False)])
            for pair in numbers
        ]
        if order == "spoken":
            for pair, both in sides:
                start = writer.at
                writer.write(_prefix(pairs.number[pair], dated[pair]))
                for side, rows in enumerate(both):
                    if writer.side(rows, "" if names else spoken(_ROLES[side]), side, speakers[pair][side]):
                        writer.write("\n")
                writer.write("\n")
                writer.sides.append((start, writer.at, pair))
        else:
            for side in (0, 1):
                for pair, both in sides:
                    start = writer.at
                    writer.write(_prefix(pairs.number[pair], None if side else dated[pair]))
                    writer.side(both[side], "", side, speakers[pair][side])
                    writer.write("\n")
                    writer.sides.append((start, writer.at, pair))
                if not side:
                    writer.write("\n")
        written.texts.append(writer.take())
    written.source = np.array(writer.source, np.int64).reshape(-1, 3)
    written.sides = np.array(writer.sides, np.int64).reshape(-1, 3)
    return written


class _Writer:
    """Writes texts and keeps account of what of them is the source's."""

    def __init__(self, texts: list[str], names: list[str] | None, *, pads: bool) -> None:
        self.texts, self.names, self.pads = texts, names, pads
        self.at = 0
        self.source: list[tuple[int, int, int]] = []
        self.sides: list[tuple[int, int, int]] = []
        self._parts: list[str] = []

    def write(self, text: str) -> None:
        self._parts.append(text)
        self.at += len(text)

    def take(self) -> str:
        """What was written since the last take."""
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def side(self, rows: list[int], label: str, side: int, usual: str) -> bool:
        """Write the messages of one side, a line each, or its pad; whether there was anything to write."""
        if not any(self.texts[row].strip() for row in rows):
            if self.pads:
                self.write(spoken(usual, _PADS[side]) if self.names else label + _PADS[side])
            return self.pads
        self.write(label)
        for place, row in enumerate(rows):
            if place:
                self.write("\n")
            if self.names and (not place or self.names[row] != self.names[rows[place - 1]]):
                self.write(spoken(self.names[row]))
            self.source.append((self.at, self.at + len(self.texts[row]), row))
            self.write(self.texts[row])
        return True


def _prefix(number: int, label: str | None) -> str:
    return f"[Turn {number} (Session: {label})] " if label else f"[Turn {number}] "


def _usual(pairs: Pairs, speakers: Sequence[str]) -> list[tuple[str, str]]:
    """Of each turn, who speaks first on either side of its conversation: the roles where nobody does."""
    conversation = np.cumsum(pairs.number == 1)
    first: dict[tuple[int, bool], str] = {}
    for place, asks, name in zip(conversation[pairs.pair].tolist(), pairs.is_user.tolist(), speakers, strict=True):
        first.setdefault((place, asks), name)
    return [
        (first.get((place, True), _ROLES[0]), first.get((place, False), _ROLES[1])) for place in conversation.tolist()
    ]
