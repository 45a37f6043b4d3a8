"""A study on a corpus: every cell on every conversation that is asked about, some conversations at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms.embed.embedder import Embedder
from transforms.errors import NotFoundError
from transforms.lake.snapshot import Snapshot
from transforms.retrieve.cell import Found, run_cell
from transforms.retrieve.questions import asked_questions
from transforms.retrieve.store import UNIT_TOKENS, Store, Vectors, align_vectors, open_store
from transforms.retrieve.study import Study, StudyCell

# Units whose texts and vectors are in memory at one time: about 250 MB, whatever the corpus.
GROUP_UNITS = 100_000


@dataclass(frozen=True, slots=True)
class Searched:
    """What one conversation's questions brought back in every cell, and UNIT_TOKENS of its units."""

    found: tuple[Found, ...]
    unit_tokens: pa.Table


def questions_of(snapshot: Snapshot, study: Study) -> pa.Table:
    """The questions that a study asks, each once.

    Raises:
        NotFoundError: the corpus has no questions, or none of the study's label sets or categories.
    """
    stored = snapshot.read("questions", where=pc.field("corpus") == study.corpus)
    if not stored.num_rows:
        raise NotFoundError(
            f"corpus={study.corpus!r} has no questions in snapshot={snapshot.snapshot_id}",
            hint="memlake ingest BENCHMARK --corpus NAME, or questions in memlake's own JSONL",
        )
    return asked_questions(stored, label_sets=study.label_sets, categories=study.categories)


def search_corpus(
    snapshot: Snapshot, study: Study, run_id: str, questions: pa.Table, embedder: Embedder | None
) -> Iterator[Searched]:
    """Run every cell of a study, conversation by conversation.

    Raises:
        NotFoundError: a representation is not stored, or not embedded, for a conversation that is asked about.
    """
    vectors = question_vectors(questions, embedder)
    for group in _groups(snapshot, study, questions):
        units = _by_conversation(_units(snapshot, study, group))
        stored = {cell.name: _vectors(snapshot, study, cell, group) for cell in study.cells}
        for conversation in group:
            rows = np.flatnonzero(pc.equal(questions["conversation_id"], conversation).to_numpy())
            asked = questions.take(rows)
            mine = None if vectors is None else vectors[rows]
            yield _conversation(study, run_id, units[conversation], stored, asked, mine)


def question_vectors(questions: pa.Table, embedder: Embedder | None) -> Vectors | None:
    """Vectors of the questions, shape (n, dimension), a row of NaN where the model gave none; None without a model."""
    if embedder is None:
        return None
    vectors = embedder.embed(questions["text"].to_pylist())
    vectors[~np.any(vectors, axis=1)] = np.nan
    return vectors


def _conversation(
    study: Study,
    run_id: str,
    units: pa.Table,
    stored: Mapping[str, pa.Table | None],
    asked: pa.Table,
    vectors: Vectors | None,
) -> Searched:
    stores: dict[tuple[tuple[str, ...], bool], Store] = {}
    found = []
    for cell in study.cells:
        held = stored[cell.name]
        key = (cell.representations, held is not None)
        if key not in stores:
            chosen = units.filter(pc.is_in(units["representation"], value_set=pa.array(cell.representations)))
            aligned = None if held is None else align_vectors(chosen, held)
            stores[key] = open_store(chosen, vectors=aligned, language=study.language)
        mine = vectors if cell.plan.needs_vectors else None
        found.append(run_cell(study.runnable(cell, run_id), store=stores[key], questions=asked, question_vectors=mine))
    tokens = pa.concat_tables([UNIT_TOKENS.empty_table(), *(store.unit_tokens for store in stores.values())])
    return Searched(tuple(found), tokens.group_by(UNIT_TOKENS.names).aggregate([]).select(UNIT_TOKENS.names))


def _groups(snapshot: Snapshot, study: Study, questions: pa.Table) -> Iterator[list[str]]:
    """Conversations that are asked about, in groups of about GROUP_UNITS units; checks that their units are there."""
    names = pc.unique(questions["conversation_id"])
    where = (pc.field("corpus") == study.corpus) & pc.field("conversation_id").isin(names)
    parts = snapshot.read("parts", columns=["conversation_id", "part", "rows"], where=where)
    counts: dict[str, dict[str, int]] = {}
    for name, part, rows in zip(*(column.to_pylist() for column in parts.columns), strict=True):
        counts.setdefault(name, {})[part] = rows
    wanted = sorted({f"units:{name}" for cell in study.cells for name in cell.representations})
    group: list[str] = []
    size = 0
    for name in names.to_pylist():
        missing = [part for part in wanted if part not in counts.get(name, {})]
        if missing:
            representation = missing[0].removeprefix("units:")
            raise NotFoundError(
                f"conversation={name!r} of corpus={study.corpus!r} has no units of representation={representation!r}",
                hint=f"memlake represent {representation} --corpus {study.corpus}",
            )
        size += sum(counts[name][part] for part in wanted)
        group.append(name)
        if size >= GROUP_UNITS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _units(snapshot: Snapshot, study: Study, group: Sequence[str]) -> pa.Table:
    names = sorted({name for cell in study.cells for name in cell.representations})
    where = (
        (pc.field("corpus") == study.corpus)
        & pc.field("representation").isin(names)
        & pc.field("conversation_id").isin(list(group))
    )
    return snapshot.read("units", where=where)


def _by_conversation(units: pa.Table) -> dict[str, pa.Table]:
    return {
        name: units.filter(pc.equal(units["conversation_id"], name))
        for name in pc.unique(units["conversation_id"]).to_pylist()
    }


def _vectors(snapshot: Snapshot, study: Study, cell: StudyCell, group: Sequence[str]) -> pa.Table | None:
    """Vectors (unit_id, vector) of the cell's units in a group; None when its plan needs none."""
    if not cell.plan.needs_vectors:
        return None
    tables = []
    for name in cell.representations:
        dataset = snapshot.vectors(name, study.embedder)
        if dataset is None:
            raise NotFoundError(
                f"representation={name!r} was never embedded by embedder={study.embedder!r}",
                hint=f"memlake embed --embedder {study.embedder} --corpus {study.corpus} --representations {name}",
            )
        # An expression, not a text: an id never becomes part of a filter's syntax.
        where = (pc.field("corpus") == study.corpus) & pc.field("conversation_id").isin(list(group))
        tables.append(dataset.to_table(columns=["unit_id", "vector"], filter=where))
    return pa.concat_tables(tables)
