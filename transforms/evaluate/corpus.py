"""A study on a corpus: every cell on every conversation that is asked about, and what a run records of its cells."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from time import perf_counter

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import CELLS
from memlake.schemas.table import settings_json
from memlake.transforms.answer.spec import ReaderSpec
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import content_id
from memlake.transforms.embed.embedder import Embedder, encode
from memlake.transforms.embed.outputs import Outputs, columns_of, outputs_of
from memlake.transforms.embed.reranker import load_reranker
from memlake.transforms.embed.vectors import check_card
from memlake.transforms.evaluate.inputs import (
    check_beside,
    conversation_groups,
    read_tables,
    reads_of,
    representations_of,
)
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.edge import Edge, EdgeSettings, open_edge
from memlake.transforms.llm.prompting import prompt
from memlake.transforms.retrieve.cell import Cell, Found, run_cell
from memlake.transforms.retrieve.store.store import UNIT_TOKENS, Store, align_vectors, open_store
from memlake.transforms.study.study import Study, StudyCell, StudyCorpus

# Units whose texts and vectors are in memory at one time: about 250 MB, whatever the corpus.
GROUP_UNITS = 100_000
# With a vector a token a unit takes about a hundred times as much.
_GROUP_UNITS_MULTI = 1_000


@dataclass(frozen=True, slots=True)
class Searched:
    """What one conversation's questions brought back in one cell, and UNIT_TOKENS of units that no cell had before.

    Attributes:
        seconds: how long the cell took on the conversation; what cells share is made by the first that needs it.
    """

    cell: str
    found: Found
    unit_tokens: pa.Table
    seconds: float


def search_corpus(
    snapshot: Snapshot,
    study: Study,
    corpus: StudyCorpus,
    run_id: str,
    questions: pa.Table,
    embedder: Embedder | None,
    edge: EdgeSettings | None = None,
) -> Iterator[Searched]:
    """Run a study's cells on a corpus, conversation by conversation; what a cell found is let go before the next begins.

    Args:
        questions: what is asked, each question once.
        embedder: of the questions, and of the stored vectors if these are to be read; None where no plan needs one.
        edge: the run's server, for plans that ask chat models.

    Raises:
        NotFoundError: a representation is not stored, not embedded or not linked, for a conversation that is asked about;
            or a plan's reranker or gold labels are not here.
        EmbedderMismatchError: stored vectors were made by another model or revision than the embedder's.
    """
    cells = study.cells_of(corpus.name)
    needs = frozenset[str]().union(*(cell.plan.needs for cell in cells))
    for cell in cells:
        for name in cell.plan.rerankers:
            load_reranker(name)  # a model that is not here is told before any work
    check_beside(snapshot, corpus.name, cells, pc.unique(questions["conversation_id"]).to_pylist())
    vectors = question_vectors(questions, embedder, needs)
    most = _GROUP_UNITS_MULTI if "multi" in needs else GROUP_UNITS
    for group in conversation_groups(snapshot, corpus.name, representations_of(cells), questions, most):
        tables = read_tables(snapshot, corpus.name, cells, group)
        stored = {} if embedder is None else _vectors(snapshot, study, corpus.name, cells, embedder, group)
        for conversation in group:
            rows = np.flatnonzero(pc.equal(questions["conversation_id"], conversation).to_numpy())
            here = _Conversation(
                {name: rows_of[conversation] for name, rows_of in tables.items()},
                stored,
                questions.take(rows),
                None if vectors is None else vectors.take(rows),
            )
            yield from _searched(study, corpus, cells, run_id, here, edge)


def question_vectors(questions: pa.Table, embedder: Embedder | None, needs: Collection[str]) -> Outputs | None:
    """Outputs of the questions, none where the model gave a question none; None without a model.

    Args:
        needs: which outputs the plans need: 'dense', 'sparse', 'multi'.

    Raises:
        UsageError: the embedder does not give one of them.
    """
    if embedder is None:
        return None
    _check_outputs(embedder, needs)
    return outputs_of(encode(embedder, questions["text"].to_pylist(), questions=True), needs)


def stored_vectors(
    snapshot: Snapshot, representation: str, corpus: str, embedder: Embedder, needs: Collection[str], *, asked: str = ""
) -> lance.LanceDataset:
    """The Lance table that holds vectors of a corpus's units, and perhaps others', made by this very embedder.

    Args:
        needs: which outputs the plans need: 'dense', 'sparse', 'multi'.
        asked: the embedder as the user named it, for the command that errors print.

    Raises:
        NotFoundError: the representation was never embedded by an embedder of this name.
        EmbedderMismatchError: another model or revision made them.
        UsageError: the embedder does not give one of the outputs.
    """
    _check_outputs(embedder, needs)
    name = embedder.card.embedder
    command = (
        f"memlake embed --embedder {shlex.quote(asked or name)} --corpus {corpus} --representations {representation}"
    )
    dataset = snapshot.vectors(representation, name)
    if dataset is None:
        raise NotFoundError(f"representation={representation!r} was never embedded by embedder={name!r}", hint=command)
    check_card(dataset.schema.metadata, embedder.card, command)
    return dataset


def _check_outputs(embedder: Embedder, needs: Collection[str]) -> None:
    if missing := sorted(set(needs) - embedder.card.outputs):
        raise UsageError(
            f"embedder={embedder.card.embedder!r} gives {', '.join(sorted(embedder.card.outputs))}, and a plan needs "
            f"{', '.join(missing)}",
            hint="--embedder bge-m3-multi" if "multi" in missing else "--embedder bge-m3",
        )


@contextmanager
def model_of(edge: EdgeSettings | None, cell: StudyCell) -> Iterator[Edge | None]:
    """The edge under the cell's name, so that `calls` says which cell asked; None where nothing is asked of a model."""
    if edge is None:
        yield None
        return
    held = open_edge(replace(edge, cell=cell.name))
    try:
        yield held
    finally:
        held.close()


@dataclass(frozen=True, slots=True)
class _Conversation:
    """What is held of a conversation: rows of its tables, what is asked, and vectors of its group by representation."""

    tables: Mapping[str, pa.Table]
    stored: Mapping[str, pa.Table]
    asked: pa.Table
    vectors: Outputs | None


def _searched(
    study: Study,
    corpus: StudyCorpus,
    cells: Sequence[StudyCell],
    run_id: str,
    here: _Conversation,
    edge: EdgeSettings | None,
) -> Iterator[Searched]:
    stores: dict[tuple[str, ...], Store] = {}
    searched: set[str] = set()
    for cell in cells:
        if cell.representations not in stores:
            alike = [other for other in cells if other.representations == cell.representations]
            stores[cell.representations] = _store(alike, corpus, here)
        store = stores[cell.representations]
        news = pa.array(sorted(set(cell.representations) - searched), pa.string())
        searched.update(cell.representations)
        tokens = store.unit_tokens if len(news) else UNIT_TOKENS.empty_table()
        start = perf_counter()
        with model_of(edge, cell) if cell.plan.chat_models else nullcontext() as model:
            found = run_cell(
                runnable(study, cell, run_id),
                store=store,
                questions=here.asked,
                question_vectors=here.vectors if cell.plan.needs_vectors else None,
                model=model,
            )
        seconds = perf_counter() - start
        yield Searched(cell.name, found, tokens.filter(pc.is_in(tokens["representation"], value_set=news)), seconds)


def _store(alike: Sequence[StudyCell], corpus: StudyCorpus, here: _Conversation) -> Store:
    """One store for the cells that search the same representations, with all that any of their plans needs."""
    representations = alike[0].representations
    needs = frozenset[str]().union(*(cell.plan.needs for cell in alike))
    units = here.tables["units"]
    units = units.filter(pc.is_in(units["representation"], value_set=pa.array(representations)))
    aligned = None
    if needs:
        held = [here.stored[name].select(columns_of(needs)) for name in representations]
        aligned = align_vectors(units, pa.concat_tables(held))
    beside = {name: here.tables[name] for name in reads_of(alike)}
    return open_store(units, vectors=aligned, language=corpus.language, **beside)


def _vectors(
    snapshot: Snapshot,
    study: Study,
    corpus: str,
    cells: Sequence[StudyCell],
    embedder: Embedder,
    group: Sequence[str],
) -> dict[str, pa.Table]:
    """Vectors of a group's units by representation, of those that a plan needs them for."""
    needs: dict[str, set[str]] = {}
    for cell in cells:
        for name in cell.representations if cell.plan.needs_vectors else ():
            needs.setdefault(name, set()).update(cell.plan.needs)
    # An expression, not a text: an id never becomes part of a filter's syntax.
    where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(list(group))
    return {
        name: stored_vectors(snapshot, name, corpus, embedder, needs[name], asked=study.embedder).to_table(
            columns=columns_of(needs[name]), filter=where
        )
        for name in sorted(needs)
    }


def runnable(study: Study, cell: StudyCell, run_id: str) -> Cell:
    """One of its cells, as `run_cell` takes it."""
    return Cell(
        run_id,
        cell.name,
        cell.plan,
        study.tokeniser,
        study.cutoffs_of(cell),
        depth=study.depth,
        texts=study.texts_of(cell),
    )


def cell_rows(study: Study, corpus: StudyCorpus, *, run_id: str, read_snapshot_id: str, provider: str = "") -> pa.Table:
    """Rows of the cells schema: each cell of the study that runs on a corpus.

    Args:
        provider: whose server the readers ask.
    """
    rows: list[dict[str, object]] = []
    for cell in study.cells_of(corpus.name):
        reader, plan = study.reader_of(cell), cell.plan.tables()
        settings = {
            "corpus": corpus.name,
            "representations": list(cell.representations),
            "embedder": study.embedder_of(cell),
            "plan": plan,
            "reader": _reader_settings(reader, provider),
            "tokeniser": study.tokeniser,
            "language": corpus.language,
            "depth": study.depth,
        }
        rows.append(
            {
                "run_id": run_id,
                "cell": cell.name,
                "study": study.name,
                "corpus": corpus.name,
                "representations": list(cell.representations),
                "embedder": study.embedder_of(cell),
                "plan": settings_json(plan),
                "reader": cell.reader,
                "tokeniser": study.tokeniser,
                "settings": (text := settings_json(settings)),
                "settings_hash": content_id(text),
                "read_snapshot_id": read_snapshot_id,
            }
        )
    return CELLS.rows(rows)


def _reader_settings(reader: ReaderSpec | None, provider: str) -> dict[str, object] | None:
    if reader is None:
        return None
    if not reader.asks_model:
        return {"name": reader.name, "kind": reader.kind}
    return asdict(reader) | {"provider": provider, "prompt_text": content_id(prompt(reader.prompt))}
