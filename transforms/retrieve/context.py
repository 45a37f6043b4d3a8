"""Contexts: the text that a reader would see, and the content tokens in it."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import CONTEXTS
from memlake.schemas.table import STRINGS
from memlake.transforms.base.arrays import Ints, runs
from memlake.transforms.retrieve.steps.search import CutoffKind, Search
from memlake.transforms.retrieve.store.store import Coded

# Joined texts a piece of a column may hold: Arrow's string offsets end at 2 GiB.
_MAX_BYTES = 2**29


@dataclass(frozen=True, slots=True)
class Leading:
    """The contexts of one cutoff: how many leading ranks each question's context holds, shape (questions,)."""

    kind: CutoffKind
    cutoff: int
    units: Ints


def context_rows(
    run_id: str,
    cell: str,
    asked: pa.Table,
    search: Search,
    leading: list[Leading],
    texts: Collection[tuple[CutoffKind, int]],
) -> pa.Table:
    """Rows of the contexts schema: every question at every cutoff, cutoff by cutoff, token budgets first.

    Args:
        texts: at which cutoffs the text is kept; null at the others.
    """
    assert search.shown is not None
    assert search.listed is not None
    count = len(search.texts)
    units = np.concatenate([context.units for context in leading]) if leading else np.empty(0, np.int64)
    question = np.tile(np.arange(count), len(leading))
    laid_out = search.shown.lay_out([context.units for context in leading])
    shown: list[pa.Array] = []
    tokens: list[pa.Array] = []
    for context, (offsets, pieces) in zip(leading, laid_out.contexts, strict=True):
        is_kept = (context.kind, context.cutoff) in texts
        shown += joined_texts(laid_out.texts, offsets, pieces).chunks if is_kept else [pa.nulls(count, pa.string())]
        tokens.append(tokens_shown(laid_out.coded, offsets, pieces))
    total = len(search.store)
    share = pa.array(search.listed / max(total, 1), mask=np.full(count, not total))
    rows = asked.select(["corpus", "conversation_id", "question_id"]).take(question)
    columns = {
        "run_id": pa.repeat(run_id, len(units)),
        "cell": pa.repeat(cell, len(units)),
        "corpus": rows["corpus"],
        "conversation_id": rows["conversation_id"],
        "question_id": rows["question_id"],
        "cutoff_kind": pa.array(np.repeat([context.kind for context in leading], count).tolist(), pa.string()),
        "cutoff": pa.array(np.repeat([context.cutoff for context in leading], count).astype(np.int64)),
        "units": pa.array(units),
        "tokens": pa.array(search.shown.running[question, units]),
        "tokeniser": pa.repeat(search.tokeniser, len(units)),
        "text": pa.chunked_array(shown, pa.string()),
        "content_tokens": pa.chunked_array(tokens, STRINGS),
        "store_share": share.take(pa.array(question)),
    }
    return pa.table(columns, schema=CONTEXTS.schema)


def joined_texts(texts: pa.Array | pa.ChunkedArray, offsets: Ints, pieces: Ints) -> pa.ChunkedArray:
    """The texts of each context's pieces, pieces[offsets[q]:offsets[q + 1]], one line break between."""
    size = np.concatenate([[0], np.cumsum(pc.binary_length(texts).to_numpy().astype(np.int64)[pieces] + 1)])
    rows = np.diff(size[offsets])
    part = np.cumsum(rows) // _MAX_BYTES
    joined = []
    for chosen in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(part)) + 1):
        if not len(chosen):
            continue
        bounds = offsets[chosen[0] : chosen[-1] + 2]
        held = texts.take(pa.array(pieces[bounds[0] : bounds[-1]], pa.int64()))
        flat = held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held
        lists = pa.ListArray.from_arrays(pa.array(bounds - bounds[0], pa.int32()), flat)
        joined.append(pc.binary_join(lists, "\n"))
    return pa.chunked_array(joined, pa.string())


def tokens_shown(coded: Coded, offsets: Ints, pieces: Ints) -> pa.ListArray:
    """Distinct content tokens of each context in code point order: the union of its pieces' own."""
    count = np.diff(coded.offsets)[pieces]
    question = np.repeat(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), count)
    place = runs(coded.offsets[pieces], count)
    seen = np.zeros((len(offsets) - 1, len(coded.vocabulary)), np.bool_)
    seen[question, coded.numbers[place]] = True
    tokens = coded.vocabulary.take(pa.array(np.nonzero(seen)[1]))
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(seen, axis=1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), tokens, type=STRINGS)
