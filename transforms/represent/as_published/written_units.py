"""Units that are cut out of written turns: no slices of the transcript, but each knows what of it the source says.

Provenance is the messages' parts that a unit holds, exact to the character; prefixes, names and pads are nobody's.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.table import settings_json
from memlake.schemas.units import UNITS
from memlake.transforms.base.arrays import Bools, Ints
from memlake.transforms.represent.as_published.written_pairs import Written
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.common.units import Pieces, finish, with_columns
from memlake.transforms.text.canonical import rank_in_run


def written_units(
    spec: RepresentationSpec,
    written: Written,
    *,
    kind: str,
    start: Ints,
    end: Ints,
    leads: Sequence[str],
    attributes: Sequence[Mapping[str, object]],
    at: pa.Array | None = None,
) -> Units:
    """Make a unit of each stretch [start, end) of the written line, in order, none of them empty.

    A stretch that holds nothing of the source has its first turn's first message as its provenance, without characters.

    Args:
        leads: what stands before each.
        attributes: of each, as JSON; the numbers of its turns are added.
        at: when each took place; where null, when the first message of its first dated turn was said.
    """
    transcript, pairs = written.transcript, written.pairs
    texts = [written.text_of(low, high) for low, high in zip(start.tolist(), end.tolist(), strict=True)]
    pieces, bare = _pieces(written, start, end)
    made = finish(
        spec,
        transcript,
        pieces,
        kind=kind,
        show_text=[lead + text for lead, text in zip(leads, texts, strict=True)],
        header_chars=np.fromiter(map(len, leads), np.int64, len(leads)),
        span=None,
    )
    of_unit = written.turns_in(start, end)
    turns = transcript.turns
    said = pc.coalesce(turns["said_at"], turns["session_at"]).to_pylist()
    first_said = pa.array(
        [next((said[pairs.dated[pair]] for pair in of_it if said[pairs.dated[pair]]), None) for of_it in of_unit],
        UNITS.schema.field("event_at").type,
    )
    shown = [
        settings_json({**more, "turns": [int(pairs.number[pair]) for pair in of_it]})
        for more, of_it in zip(attributes, of_unit, strict=True)
    ]
    units = with_columns(
        made.units,
        session_id=_only(turns["session_id"], transcript.session_of(transcript.start)[pieces.turn], pieces),
        event_at=first_said if at is None else pc.coalesce(at, first_said),
        attributes=pa.array(shown, pa.string()),
    )
    return Units(units, _without_characters(made.provenance, bare), made.links)


def _pieces(written: Written, start: Ints, end: Ints) -> tuple[Pieces, Bools]:
    """The source's parts of each stretch, by their place in the transcript, and which of them are stand-ins."""
    begins, ends, message = written.source.T
    first = np.searchsorted(ends, start, side="right")
    counts = np.maximum(np.searchsorted(begins, end, side="left") - first, 0)
    unit = np.repeat(np.arange(len(start)), counts)
    row = first[unit] + rank_in_run(unit)
    low, high = np.maximum(start[unit], begins[row]), np.minimum(end[unit], ends[row])
    real = low < high
    unit, row, low, high = unit[real], row[real], low[real], high[real]
    shift = written.transcript.text_start[message[row]] - begins[row]
    lacking = np.setdiff1d(np.arange(len(start)), unit)
    stand_in = np.array(
        [written.pairs.first[of_it[0]] for of_it in written.turns_in(start[lacking], end[lacking])], np.int64
    )
    at = written.transcript.text_start[stand_in]
    unit, turn = np.append(unit, lacking), np.append(message[row], stand_in)
    low, high = np.append(low + shift, at), np.append(high + shift, at)
    order = np.lexsort((low, unit))
    bare = np.append(np.zeros(len(row), np.bool_), np.ones(len(lacking), np.bool_))[order]
    return Pieces(unit[order], turn[order], low[order], high[order], ~bare), bare


def _only(column: pa.ChunkedArray, codes: Ints, pieces: Pieces) -> pa.Array:
    """The column's value at each unit's first piece; null where the codes of its pieces differ."""
    if not len(codes):
        return pa.array([], column.type)
    first = np.flatnonzero(rank_in_run(pieces.unit) == 0)
    differ = np.minimum.reduceat(codes, first) != np.maximum.reduceat(codes, first)
    return column.combine_chunks().take(pa.array(pieces.turn[first], mask=differ))


def _without_characters(provenance: pa.Table, bare: Bools) -> pa.Table:
    nothing = pa.scalar(None, pa.int64())
    mask = pa.array(bare)
    return with_columns(
        provenance,
        char_start=pc.if_else(mask, nothing, provenance["char_start"]),
        char_end=pc.if_else(mask, nothing, provenance["char_end"]),
        grounding=pc.if_else(mask, "none", provenance["grounding"]),
    )
