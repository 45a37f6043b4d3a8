"""Where units come from: the turns behind each one, and the conversation that they are turns of."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Ints
from memlake.transforms.text.canonical import header, spoken

# Where a unit begins whose place is not known: after everything else.
UNPLACED = np.iinfo(np.int64).max
# Turns come before code points: below 2^32 code points a conversation, and 2^31 turns.
_TURN = 2**32


@dataclass(frozen=True, slots=True)
class Sources:
    """Turns of the units of a store, those that a unit's text touches; pairs are sorted by (unit, turn), each once.

    Attributes:
        unit, turn: shape (pairs,): position of the unit in the store, ordinal of the turn.
        begins: shape (units,): where a unit begins, be it with a speaker or a line break; ascending in time, UNPLACED without
            provenance.
    """

    unit: Ints
    turn: Ints
    begins: Ints


@dataclass(frozen=True, eq=False)
class Record:
    """The turns of a conversation by ordinal, from 0, in one chunk."""

    turns: pa.Table

    def __len__(self) -> int:
        return self.turns.num_rows

    @cached_property
    def text(self) -> str:
        """The conversation's canonical text: `speaker: text`, one line break between turns."""
        return "\n".join(self._lines)

    @cached_property
    def starts(self) -> Ints:
        """First code point of each turn in the canonical text."""
        return np.asarray(self.turns["char_start"].to_numpy(), np.int64)

    @cached_property
    def session_starts(self) -> Ints:
        """First code point of each session."""
        session = np.asarray(self.turns["session_ordinal"].to_numpy(), np.int64)
        return self.starts[np.diff(session, prepend=-1) != 0]

    @cached_property
    def shown(self) -> pa.StringArray:
        """Each turn as the representation `turns` shows it: date header, speaker, text."""
        labels = self.turns["session_label"].to_pylist()
        lines = [header(label) + line for label, line in zip(labels, self._lines, strict=True)]
        return pa.array(lines, pa.string())

    @cached_property
    def dates(self) -> Ints:
        """When each turn was said, else when its session took place, in microseconds; UNPLACED when unknown."""
        known = pc.coalesce(self.turns["said_at"], self.turns["session_at"]).cast(pa.int64())
        return np.asarray(pc.fill_null(known, UNPLACED).to_numpy(), np.int64)

    @cached_property
    def _lines(self) -> list[str]:
        speakers, texts = (self.turns[name].to_pylist() for name in ("speaker", "text"))
        return [spoken(speaker, text) for speaker, text in zip(speakers, texts, strict=True)]

    def places(self, chars: Ints) -> Ints:
        """Code points of the canonical text on the scale of `Sources.begins`."""
        turn = np.maximum(np.searchsorted(self.starts, chars, side="right") - 1, 0)
        return turn * _TURN + chars + 1


def sources_of(unit_ids: pa.ChunkedArray, provenance: pa.Table) -> Sources:
    """Turns of these units from rows of provenance, of which those of other units are left out."""
    rows = pc.index_in(provenance["unit_id"], value_set=unit_ids)
    here = provenance.filter(pc.is_valid(rows))
    unit = np.asarray(pc.drop_null(rows).to_numpy(), np.int64)
    turn = np.asarray(here["ordinal"].to_numpy(), np.int64)
    # A piece of which only the turn is known begins with it: before every code point of the turn.
    place = turn * _TURN + np.asarray(pc.fill_null(here["char_start"], -1).to_numpy(), np.int64) + 1
    begins = np.full(len(unit_ids), UNPLACED, np.int64)
    np.minimum.at(begins, unit, place)
    touching = here["touches_text"].to_numpy(zero_copy_only=False).astype(np.bool_)
    pairs = np.unique(np.stack([unit[touching], turn[touching]]), axis=1)
    return Sources(pairs[0], pairs[1], begins)


def latest(sources: Sources, dates: Ints) -> Ints:
    """The latest known date of each unit's turns, shape (units,); UNPLACED where none is known."""
    known = dates[sources.turn] != UNPLACED
    found = np.full(len(sources.begins), np.iinfo(np.int64).min)
    np.maximum.at(found, sources.unit[known], dates[sources.turn[known]])
    return np.where(found == np.iinfo(np.int64).min, UNPLACED, found)
