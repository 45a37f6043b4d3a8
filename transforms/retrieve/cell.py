"""One cell on one conversation: its questions against its units, to ranked lists and contexts."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import CONTEXTS, RETRIEVALS
from transforms.errors import UsageError
from transforms.retrieve.context import Leading, context_rows
from transforms.retrieve.outputs import Outputs, Vectors, as_outputs
from transforms.retrieve.plan import Plan
from transforms.retrieve.search import Cutoffs, Search
from transforms.retrieve.store import Store
from transforms.retrieve.tokenisers import costs

# Questions x units held as float64 at one time, about 32 MB a matrix: peak memory does not grow with a conversation.
_BLOCK = 4_000_000
# What seed steps may have given, as columns of retrievals.
_PARTS = ("dense", "lexical", "sparse", "multi")


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell of a run retrieves with; the representations are those whose units it is given.

    Attributes:
        depth: how many ranks are kept at least, where there are so many units; more when a context needs them.
    """

    run_id: str
    name: str
    plan: Plan
    tokeniser: str
    cutoffs: Cutoffs
    depth: int = 100


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of the two tables that a cell fills, in the schemas of the same names.

    Attributes:
        rerank_cut: how many pairs of question and unit were longer than the reranker's longest input.
    """

    retrievals: pa.Table
    contexts: pa.Table
    rerank_cut: int = 0


def run_cell(
    cell: Cell, *, store: Store, questions: pa.Table, question_vectors: Vectors | Outputs | None = None
) -> Found:
    """Ranked lists and contexts of one conversation's questions.

    A question without units, or whose first unit does not fit a budget, gets a context of 0 units and the text ''. A
    unit without a vector counts as the lowest cosine, -1, and its `dense` is null.

    Args:
        cell: plan, tokeniser, cutoffs, depth.
        store: the units of the conversation in the cell's representations.
        questions: rows of the questions schema, distinct by question_id, of the store's conversation.
        question_vectors: outputs of the questions, aligned with them; or vectors alone, shape (questions, dimension),
            rows of NaN where there is none.

    Raises:
        UsageError: a question comes twice, belongs to another conversation, or vectors are missing.
        NotFoundError: the tokeniser does not exist.
    """
    outputs = as_outputs(question_vectors)
    _check(store, questions, outputs)
    unit_costs = costs(cell.tokeniser, store.units["show_text"])
    size = max(1, _BLOCK // max(len(store), 1))
    found = []
    for start in range(0, questions.num_rows, size):
        asked = questions.slice(start, size)
        rows = np.arange(start, start + asked.num_rows)
        vectors = outputs.take(rows) if outputs is not None else None
        search = Search(store, asked["text"].to_pylist(), vectors, unit_costs, cell.cutoffs)
        found.append(_found(cell, asked, cell.plan.run(search)))
    return Found(
        retrievals=pa.concat_tables([RETRIEVALS.empty(), *(block.retrievals for block in found)]),
        contexts=pa.concat_tables([CONTEXTS.empty(), *(block.contexts for block in found)]),
        rerank_cut=sum(block.rerank_cut for block in found),
    )


def _found(cell: Cell, asked: pa.Table, search: Search) -> Found:
    leading = [Leading(kind, cutoff, search.leading[kind, cutoff]) for kind, cutoff in cell.cutoffs.pairs()]
    return Found(
        retrievals=_retrieval_rows(cell, asked, search, leading),
        contexts=context_rows(cell.run_id, cell.name, cell.tokeniser, asked, search, leading),
        rerank_cut=search.rerank_cut,
    )


def _retrieval_rows(cell: Cell, asked: pa.Table, search: Search, leading: list[Leading]) -> pa.Table:
    assert search.order is not None
    assert search.score is not None
    longest = np.max([context.units for context in leading], axis=0) if leading else 0
    kept = np.minimum(np.maximum(longest, cell.depth), len(search.store)) * np.ones(len(search.texts), np.int64)
    question = np.repeat(np.arange(len(search.texts)), kept)
    rank = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
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
    for name, part in (*((name, search.parts.get(name)) for name in _PARTS), ("rerank", search.rerank)):
        column = pa.nulls(len(unit), pa.float32())
        if part is not None:
            column = pa.array(part[question, unit].astype(np.float32), from_pandas=True)
        columns[name] = column
    return pa.table(columns, schema=RETRIEVALS.schema)


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
