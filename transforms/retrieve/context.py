"""Contexts: the text that a reader would see, and the content tokens in it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import CONTEXTS
from schemas.table import STRINGS
from transforms.retrieve.search import CutoffKind, Search

# Joined texts a piece of a column may hold: Arrow's string offsets end at 2 GiB.
_MAX_BYTES = 2**29

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Leading:
    """The contexts of one cutoff: how many leading ranks each question's context holds, shape (questions,)."""

    kind: CutoffKind
    cutoff: int
    units: Numbers


def context_rows(
    run_id: str, cell: str, tokeniser: str, asked: pa.Table, search: Search, leading: list[Leading]
) -> pa.Table:
    """Rows of the contexts schema: every question at every cutoff, cutoff by cutoff, token budgets first."""
    assert search.order is not None
    count = len(search.texts)
    units = np.concatenate([context.units for context in leading]) if leading else np.empty(0, np.int64)
    question = np.tile(np.arange(count), len(leading))
    running = np.zeros((count, len(search.store) + 1), np.int64)
    np.cumsum(search.unit_costs[search.order], axis=1, out=running[:, 1:])
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
        "tokens": pa.array(running[question, units]),
        "tokeniser": pa.repeat(tokeniser, len(units)),
        "text": _texts(search, question, units, count * sum(context.kind == "tokens" for context in leading)),
        "content_tokens": _tokens_shown(search, question, units),
    }
    return pa.table(columns, schema=CONTEXTS.schema)


def _texts(search: Search, question: Numbers, units: Numbers, budgets: int) -> pa.ChunkedArray:
    """Text of the first `budgets` contexts; null for those after, which are of k cutoffs that no reader is asked at."""
    assert search.order is not None
    texts = joined_texts(search.store.units["show_text"], search.order, question[:budgets], units[:budgets])
    return pa.chunked_array([*texts.chunks, pa.nulls(len(units) - budgets, pa.string())])


def joined_texts(texts: pa.ChunkedArray, order: Numbers, question: Numbers, units: Numbers) -> pa.ChunkedArray:
    """For each context the first `units` texts in the order of its question, one line break between."""
    size = np.zeros((len(order), order.shape[1] + 1), np.int64)
    np.cumsum((pc.binary_length(texts).to_numpy().astype(np.int64) + 1)[order], axis=1, out=size[:, 1:])
    piece = np.cumsum(size[question, units]) // _MAX_BYTES
    pieces = []
    for rows in np.split(np.arange(len(units)), np.flatnonzero(np.diff(piece)) + 1):
        offsets = np.concatenate([[0], np.cumsum(units[rows])])
        rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], units[rows])
        shown = order[np.repeat(question[rows], units[rows]), rank]
        lists = pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), texts.take(pa.array(shown, pa.int64())).combine_chunks()
        )
        pieces.append(pc.binary_join(lists, "\n"))
    return pa.chunked_array(pieces, pa.string())


def _tokens_shown(search: Search, question: Numbers, units: Numbers) -> pa.ListArray:
    """Distinct content tokens of each context in code point order: the union of its units' own."""
    assert search.order is not None
    vocabulary, starts, numbers = search.store.content_tokens
    count = starts[1:] - starts[:-1]
    deepest = int(units.max(initial=0))
    # first[q, t]: the first rank, from 0, whose unit holds token t. A context of u units holds t when it is below u.
    first = np.full((len(search.texts), len(vocabulary)), deepest, np.int64)
    for rank in range(deepest - 1, -1, -1):
        unit = search.order[:, rank]
        asked = np.repeat(np.arange(len(unit)), count[unit])
        token = np.arange(count[unit].sum()) + np.repeat(
            starts[unit] - np.cumsum(count[unit]) + count[unit], count[unit]
        )
        first[asked, numbers[token]] = rank
    offsets, tokens = [np.zeros(1, np.int64)], []
    # A question at a time would be slow and all contexts at once would be large: a cutoff at a time is neither.
    size = max(len(search.texts), 1)
    for start in range(0, len(units), size):
        seen = first[question[start : start + size]] < units[start : start + size, None]
        tokens.append(np.nonzero(seen)[1])
        offsets.append(np.count_nonzero(seen, axis=1))
    taken = vocabulary.take(pa.array(np.concatenate([np.empty(0, np.int64), *tokens])))
    ends = np.cumsum(np.concatenate(offsets))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), taken, type=STRINGS)
