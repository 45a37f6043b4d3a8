"""Filter step: units that cannot be candidates, by what they are, who said them, or when."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Bools
from memlake.transforms.base.fields import Texts
from memlake.transforms.retrieve.steps.step import Search, Seed, Stage, Step, later
from memlake.transforms.retrieve.store.sources import UNPLACED, latest


class Filter(Step):
    """Keep the units that pass every setting that is given.

    Attributes:
        kinds: units of one of these kinds.
        speaker: 'named': units whose speaker, or a speaker of whose turns, the question names, upper and lower case alike;
            a question that names nobody keeps all.
        time: 'until_asked': units whose turns were all said when the question was asked; a turn's date is its session's
            where it has none, a unit's without dated turns is its event's, and what has no date at all stays.
    """

    stage: ClassVar[Stage] = "filter"
    step: Literal["filter"]
    kinds: Texts = later(())
    speaker: Literal["named"] | None = later(None)
    time: Literal["until_asked"] | None = later(None)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Turns and provenance, for speakers and dates."""
        return frozenset({"provenance", "turns"} if self.speaker or self.time else ())

    def problem(self, seeds: Sequence[Seed]) -> str:  # noqa: ARG002 - whatever they are
        """See Step."""
        return "" if self.kinds or self.speaker or self.time else "its filter has no setting and keeps everything"

    def apply(self, search: Search) -> Search:
        """Narrow `allowed`.

        Raises:
            UsageError: turns or provenance were not read.
        """
        allowed = np.ones((len(search.texts), len(search.store)), np.bool_)
        if self.kinds:
            kinds = pa.array(self.kinds, pa.string())
            allowed &= pc.is_in(search.store.units["kind"], value_set=kinds).to_numpy()[None, :]
        if self.speaker:
            allowed &= _of_those_named(search)
        if self.time:
            allowed &= _until_asked(search)
        return replace(search, allowed=allowed)


def _of_those_named(search: Search) -> Bools:
    """Which units someone said whom the question names, shape (m, n)."""
    store = search.store
    own = store.units["speaker"]
    of_turns = store.record.turns["speaker"].take(pa.array(store.sources.turn))
    names = pc.unique(pc.drop_null(pa.chunked_array([*own.chunks, *of_turns.chunks], pa.string())))
    said = np.zeros((len(store), len(names)), np.int64)
    for unit, speakers in ((np.arange(len(store)), own), (store.sources.unit, of_turns)):
        name = pc.fill_null(pc.index_in(speakers, value_set=names), -1).to_numpy()
        said[unit[name >= 0], name[name >= 0]] = 1
    patterns = [_name(name) for name in names.to_pylist()]
    named = np.array([[bool(pattern.search(text)) for pattern in patterns] for text in search.texts], np.int64)
    named = named.reshape(len(search.texts), len(names))
    nobody = named.sum(axis=1) == 0
    return np.asarray((named @ said.T > 0) | nobody[:, None], np.bool_)


def _name(name: str) -> re.Pattern[str]:
    """A name as words of a text; as letters anywhere in a script that has no upper case, and no spaces between words."""
    if not name.strip():
        return re.compile(r"(?!)")
    edge = r"(?<!\w)", r"(?!\w)"
    before, after = edge if name.lower() != name.upper() else ("", "")
    return re.compile(before + re.escape(name.strip()) + after, re.IGNORECASE)


def _until_asked(search: Search) -> Bools:
    """Which units are not of a time after the question's, shape (m, n)."""
    store = search.store
    dates = latest(store.sources, store.record.dates)
    events = pc.fill_null(store.units["event_at"].cast(pa.int64()), UNPLACED).to_numpy()
    dates = np.where(dates == UNPLACED, events, dates)
    asked = pc.fill_null(search.questions["asked_at"].cast(pa.int64()), UNPLACED).to_numpy()
    return (dates[None, :] <= asked[:, None]) | (dates == UNPLACED)[None, :]
