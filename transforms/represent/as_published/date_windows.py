"""date_windows: a unit for each date that a regular expression finds, with the raw text around it.

The published comparison stored such windows among its extracted artifacts: verbatim residue, which is to be counted apart.
What is written and in which order is as there: messages folded into turns of two sides, a batch of 40 turns at a time, all
users' sides before the others (turn_pairs.py, written_pairs.py). Dates are looked for in messages, not in prefixes. Source:
arXiv 2601.00821 version 3 and the code of tao-hpu/cog-canvas. What mends its defects, beside the settings of
chunks_published:

    resolve=own        relative dates count from the day on which they were said, not from the batch's last session
                       (batch_last), nor from the session of the turn whose number is the batch's (call_number): what its
                       repair pass came to, since it took the number of the call for that of the turn
    order=spoken       a question's answer stands after it
    header=every       the date of the session before every unit
"""

from collections.abc import Sequence
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.table import TIME
from memlake.transforms.base.arrays import Ints
from memlake.transforms.represent.as_published.date_words import date_spans, resolved
from memlake.transforms.represent.as_published.written_pairs import (
    WRITTEN_SETTINGS,
    Written,
    check_written_settings,
    write_pairs,
)
from memlake.transforms.represent.as_published.written_units import written_units
from memlake.transforms.represent.by_model.quoted import partial_date
from memlake.transforms.represent.common.checks import check_choices, check_least
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Settings, Units
from memlake.transforms.text.canonical import header, transcript_of

RESOLVES = ("batch_last", "call_number", "own")
ORDERS = ("by_side", "spoken")
HEADERS = ("none", "every")


def _check(settings: Settings) -> None:
    check_written_settings(settings)
    check_choices(settings, resolve=RESOLVES, order=ORDERS, header=HEADERS)
    check_least(settings, "around", 0, default=100, allowed="at least 0 characters on either side")


def _build(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make a unit of each date: `DATE: ` where it could be resolved, and the text `around` it within its batch, stripped.

    Attributes are the words (time_expression), what they mean (resolved_time, null when unknown) and the batch. The unit
    took place then, else when its message was said.
    """
    settings = spec.settings
    written = write_pairs(transcript_of(turns), settings, order=str(settings["order"]))
    found = [
        (message, at + start, at + end)
        for at, past, message in written.source.tolist()
        for start, end in date_spans(written.text_of(at, past) if past > at else "")
    ]
    message, start, end = np.array(found, np.int64).reshape(-1, 3).T
    words = [written.text_of(low, high) for low, high in zip(start.tolist(), end.tolist(), strict=True)]
    anchors = _anchors(written, message, str(settings["resolve"]))
    dates = [resolved(expression, anchor) for expression, anchor in zip(words, anchors, strict=True)]
    labels = written.transcript.turns["session_label"].take(pa.array(message)).to_pylist()
    leads = [
        (header(label) if settings["header"] == "every" else "") + (f"{moment}: " if moment else "")
        for label, moment in zip(labels, dates, strict=True)
    ]
    batch = written.batch[written.pairs.pair[message]]
    numbers = written.numbers()
    attributes = [
        {"time_expression": expression, "resolved_time": moment, "batch": numbers[place]}
        for expression, moment, place in zip(words, dates, batch.tolist(), strict=True)
    ]
    said = _said_at(written).take(pa.array(message)).to_pylist()
    at = pa.array([partial_date(moment) or when for moment, when in zip(dates, said, strict=True)], TIME)
    low, high = _around(written, batch, start, end, int(settings["around"]))
    return written_units(spec, written, kind="event", start=low, end=high, leads=leads, attributes=attributes, at=at)


def _around(written: Written, batch: Ints, start: Ints, end: Ints, around: int) -> tuple[Ints, Ints]:
    """Spans of the text around dates, within their batch, less the white space at their ends."""
    base = np.array(written.base, np.int64)
    past = base + np.fromiter(map(len, written.texts), np.int64, len(base))
    low, high = np.maximum(start - around, base[batch]), np.minimum(end + around, past[batch])
    texts = [written.text_of(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    left = [len(text) - len(text.lstrip()) for text in texts]
    right = [len(text) - len(text.rstrip()) for text in texts]
    return low + np.array(left, np.int64), high - np.array(right, np.int64)


def _anchors(written: Written, message: Ints, resolve: str) -> Sequence[date | None]:
    """The day from which the relative dates of each of these messages count; None when it is unknown."""
    pairs = written.pairs
    if resolve != "own":
        turn = pairs.pair[message]
        first = np.flatnonzero(np.diff(written.batch, prepend=-1) != 0)
        batch = written.batch[turn]
        if resolve == "batch_last":
            last = np.append(first[1:], len(written.batch))[: len(first)] - 1
            message = pairs.dated[last[batch]]
        else:
            opens = turn - pairs.number[turn] + 1  # the first turn of its conversation
            number = np.array(written.numbers(), np.int64)[batch]
            message = pairs.dated[opens + number - 1]
    moments: list[datetime | None] = _said_at(written).take(pa.array(message)).to_pylist()
    return [moment.date() if moment else None for moment in moments]


def _said_at(written: Written) -> pa.ChunkedArray:
    turns = written.transcript.turns
    return pc.coalesce(turns["said_at"], turns["session_at"])


DATE_WINDOWS = Representation(
    "date_windows",
    _build,
    {**WRITTEN_SETTINGS, "around": 100, "order": ORDERS[0], "resolve": RESOLVES[0], "header": HEADERS[0]},
    check=_check,
)
