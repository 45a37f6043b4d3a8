"""One cell on one conversation: its questions against its units, to ranked lists and the contexts that a reader would see."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import CONTEXTS, RETRIEVALS
from memlake.schemas.retrievals import PART_COLUMNS
from memlake.schemas.table import STRINGS
from memlake.transforms.base.arrays import Float32s, Floats, Ints, runs
from memlake.transforms.base.errors import UsageError
from memlake.transforms.embed.outputs import Outputs, as_outputs
from memlake.transforms.retrieve.contexts.shown import width
from memlake.transforms.retrieve.plan import Plan
from memlake.transforms.retrieve.steps.step import CutoffKind, Cutoffs, Search
from memlake.transforms.retrieve.store.store import Coded, Store

if TYPE_CHECKING:
    from memlake.transforms.llm.edge import Edge

# Questions x units held as float64 at one time, about 32 MB a matrix: peak memory does not grow with a conversation.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell of a run retrieves with; the representations are those whose units it is given.

    Attributes:
        depth: how many ranks are kept at least, where there are so many candidates; more when a context needs them.
        texts: at which cutoffs a context's text is kept; it is null at the others, whose content tokens are kept all the same.
    """

    run_id: str
    name: str
    plan: Plan
    tokeniser: str
    cutoffs: Cutoffs
    depth: int = 100
    texts: frozenset[tuple[CutoffKind, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of the two tables that a cell fills, in the schemas of the same names.

    Attributes:
        reached: shape (questions,): which share of the conversation's units are candidates; NaN without units.
        rerank_cut: how many pairs of question and unit were longer than the reranker's longest input.
    """

    retrievals: pa.Table
    contexts: pa.Table
    reached: Floats
    rerank_cut: int = 0


def run_cell(
    cell: Cell,
    *,
    store: Store,
    questions: pa.Table,
    question_vectors: Float32s | Outputs | None = None,
    model: "Edge | None" = None,
) -> Found:
    """Ranked lists and contexts of one conversation's questions.

    A question without candidates, or whose first unit does not fit a budget, gets a context of 0 units and the text ''. A
    unit without a vector counts as the lowest cosine, -1, and its `dense` is null.

    Args:
        store: the units of the conversation in the cell's representations, opened with what the plan reads beside them.
        questions: rows of the questions schema, distinct by question_id, of the store's conversation.
        question_vectors: outputs of the questions, aligned with them; or vectors alone, shape (questions, dimension),
            rows of NaN where there is none.
        model: the model edge, for a plan with a step that asks one.

    Raises:
        UsageError: a question comes twice, belongs to another conversation, or vectors, tables or a model are missing.
        NotFoundError: the tokeniser does not exist, or is not here.
    """
    outputs = as_outputs(question_vectors)
    _check(store, questions, outputs)
    # Its own words, or those of the question whose context it is shown.
    partners = cell.plan.partners(questions)
    size = max(1, _BLOCK // max(width(store, cell.plan.view), 1))
    found = []
    for start in range(0, questions.num_rows, size):
        rows = partners[start : start + size]
        asked = questions.take(pa.array(rows))
        search = Search(
            store,
            asked,
            asked["text"].to_pylist(),
            outputs.take(rows) if outputs is not None else None,
            cell.tokeniser,
            cell.cutoffs,
            model,
            alone=questions.num_rows == 1,
        )
        found.append(_found(cell, questions.slice(start, size), cell.plan.run(search)))
    return Found(
        retrievals=pa.concat_tables([RETRIEVALS.empty(), *(block.retrievals for block in found)]),
        contexts=pa.concat_tables([CONTEXTS.empty(), *(block.contexts for block in found)]),
        reached=np.concatenate([np.empty(0), *(block.reached for block in found)]),
        rerank_cut=sum(block.rerank_cut for block in found),
    )


def _found(cell: Cell, asked: pa.Table, search: Search) -> Found:
    assert search.listed is not None
    units = len(search.store)
    return Found(
        retrievals=_retrieval_rows(cell, asked, search),
        contexts=_context_rows(cell, asked, search),
        reached=search.listed / units if units else np.full(len(search.listed), np.nan),
        rerank_cut=search.rerank_cut,
    )


def _retrieval_rows(cell: Cell, asked: pa.Table, search: Search) -> pa.Table:
    """The ranks of each question that are kept; nothing beyond its candidates."""
    assert search.order is not None
    assert search.score is not None
    assert search.listed is not None
    longest = np.max([*search.leading.values()], axis=0) if search.leading else 0
    kept = np.minimum(np.maximum(longest, cell.depth), search.listed)
    question = np.repeat(np.arange(len(search.texts)), kept)
    rank = runs(0, kept)
    unit = search.order[question, rank]
    units = search.store.units.select(["representation", "unit_id"]).take(unit)
    rows = asked.select(["corpus", "conversation_id", "question_id"]).take(question)
    columns = {
        "run_id": pa.repeat(cell.run_id, len(unit)),
        "cell": pa.repeat(cell.name, len(unit)),
        "corpus": rows["corpus"],
        "conversation_id": rows["conversation_id"],
        "question_id": rows["question_id"],
        "rank": pa.array(rank + 1),
        "representation": units["representation"],
        "unit_id": units["unit_id"],
        "score": pa.array(search.score[question, unit].astype(np.float32)),
    }
    parts = {name: search.parts[name].values[question, unit].astype(np.float32) for name in cell.plan.parts}
    for name in PART_COLUMNS:
        columns[name] = (
            pa.array(parts.pop(name), from_pandas=True) if name in parts else pa.nulls(len(unit), pa.float32())
        )
    columns["parts"] = _part_maps(parts, len(unit))
    return pa.table(columns, schema=RETRIEVALS.schema)


def _part_maps(parts: Mapping[str, Float32s], rows: int) -> pa.Array:
    """Parts that have no column of their own as a map a row, null where there are none."""
    kind = RETRIEVALS.schema.field("parts").type
    if not parts:
        return pa.nulls(rows, kind)
    offsets = pa.array(np.arange(rows + 1) * len(parts), pa.int32())
    names = pa.array(list(parts), pa.string()).take(pa.array(np.tile(np.arange(len(parts)), rows)))
    values = pa.array(np.stack(list(parts.values()), axis=1).reshape(-1), from_pandas=True)
    return pa.MapArray.from_arrays(offsets, names, values).cast(kind)


def _check(store: Store, questions: pa.Table, vectors: Outputs | None) -> None:
    if pc.count_distinct(questions["question_id"]).as_py() != questions.num_rows:
        raise UsageError(
            f"questions={questions.num_rows} repeat a question_id: one row a question is allowed, of one label set",
            hint="keep the rows of one label set",
        )
    asked = pa.concat_tables(
        [table.select(["corpus", "conversation_id"]) for table in (store.units, questions)], promote_options="none"
    )
    if asked.group_by(["corpus", "conversation_id"]).aggregate([]).num_rows > 1:
        raise UsageError(
            "units and questions are of several conversations: one conversation is allowed",
            hint="search one conversation at a time",
        )
    if vectors is not None and len(vectors) != questions.num_rows:
        raise UsageError(
            f"question vectors={len(vectors)} for questions={questions.num_rows}: one a question is allowed",
            hint="embed the text of every question",
        )


# Joined texts a piece of a column may hold: Arrow's string offsets end at 2 GiB.
_MAX_BYTES = 2**29


def _context_rows(cell: Cell, asked: pa.Table, search: Search) -> pa.Table:
    """Every question at every cutoff, cutoff by cutoff, token budgets first."""
    assert search.shown is not None
    assert search.listed is not None
    count = len(search.texts)
    cutoffs, leading = [*search.leading], [*search.leading.values()]
    units = np.concatenate([np.empty(0, np.int64), *leading])
    question = np.tile(np.arange(count), len(leading))
    laid_out = search.shown.lay_out(leading)
    shown: list[pa.Array] = []
    tokens: list[pa.Array] = []
    for cutoff, (offsets, pieces) in zip(cutoffs, laid_out.contexts, strict=True):
        is_kept = cutoff in cell.texts
        shown += joined_texts(laid_out.texts, offsets, pieces).chunks if is_kept else [pa.nulls(count, pa.string())]
        tokens.append(tokens_shown(laid_out.coded, offsets, pieces))
    total = len(search.store)
    share = pa.array(search.listed / max(total, 1), mask=np.full(count, not total))
    rows = asked.select(["corpus", "conversation_id", "question_id"]).take(question)
    columns = {
        "run_id": pa.repeat(cell.run_id, len(units)),
        "cell": pa.repeat(cell.name, len(units)),
        "corpus": rows["corpus"],
        "conversation_id": rows["conversation_id"],
        "question_id": rows["question_id"],
        "cutoff_kind": pa.array([kind for kind, _ in cutoffs for _ in range(count)], pa.string()),
        "cutoff": pa.array([cutoff for _, cutoff in cutoffs for _ in range(count)], pa.int64()),
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
