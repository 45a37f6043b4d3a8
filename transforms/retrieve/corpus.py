"""A study on a corpus: every cell on every conversation that is asked about, some conversations at a time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import UNITS
from transforms.embed.embedder import Embedder
from transforms.embed.vectors import check_card
from transforms.errors import NotFoundError
from transforms.lake.snapshot import Snapshot
from transforms.represent.catalogue import REPRESENTATIONS, kind_named
from transforms.retrieve.cell import Found, run_cell
from transforms.retrieve.questions import labelled_questions
from transforms.retrieve.store import UNIT_TOKENS, Store, Vectors, align_vectors, open_store
from transforms.retrieve.study import Study

# Units whose texts and vectors are in memory at one time: about 250 MB, whatever the corpus.
GROUP_UNITS = 100_000


@dataclass(frozen=True, slots=True)
class Searched:
    """What one conversation's questions brought back in one cell, and UNIT_TOKENS of units that no cell had before."""

    found: Found
    unit_tokens: pa.Table


def questions_of(snapshot: Snapshot, study: Study) -> pa.Table:
    """The rows of questions that a study asks and scores, one a question and label set, in the study's language.

    Raises:
        NotFoundError: the corpus has no questions, or none of the study's label sets or categories.
    """
    stored = snapshot.read("questions", where=pc.field("corpus") == study.corpus)
    if not stored.num_rows:
        raise NotFoundError(
            f"corpus={study.corpus!r} has no questions in snapshot={snapshot.snapshot_id}",
            hint="memlake ingest BENCHMARK --corpus NAME, or questions in memlake's own JSONL",
        )
    return labelled_questions(stored, label_sets=study.label_sets, categories=study.categories, language=study.language)


def search_corpus(
    snapshot: Snapshot, study: Study, run_id: str, questions: pa.Table, embedder: Embedder | None
) -> Iterator[Searched]:
    """Run every cell of a study, conversation by conversation; what a cell found is let go before the next begins.

    Args:
        questions: what is asked, each question once.
        embedder: of the questions, and of the stored vectors if these are to be read; None where no plan needs one.

    Raises:
        NotFoundError: a representation is not stored, or not embedded, for a conversation that is asked about.
        EmbedderMismatchError: stored vectors were made by another model or revision than the embedder's.
    """
    vectors = question_vectors(questions, embedder)
    for group in _groups(snapshot, study, questions):
        units = _by_conversation(_units(snapshot, study, group))
        stored = {} if embedder is None else _vectors(snapshot, study, embedder, group)
        for conversation in group:
            rows = np.flatnonzero(pc.equal(questions["conversation_id"], conversation).to_numpy())
            asked = questions.take(rows)
            mine = None if vectors is None else vectors[rows]
            yield from _conversation(study, run_id, units.get(conversation, UNITS.empty()), stored, asked, mine)


def question_vectors(questions: pa.Table, embedder: Embedder | None) -> Vectors | None:
    """Vectors of the questions, shape (n, dimension), a row of NaN where the model gave none; None without a model."""
    if embedder is None:
        return None
    vectors = embedder.embed(questions["text"].to_pylist())
    vectors[~np.any(vectors, axis=1)] = np.nan
    return vectors


def stored_vectors(
    snapshot: Snapshot, representation: str, corpus: str, embedder: Embedder, conversations: Sequence[str] | None = None
) -> pa.Table:
    """Vectors (unit_id, vector) of a corpus's units, or of some conversations', that this very embedder made.

    Raises:
        NotFoundError: the representation was never embedded by an embedder of this name.
        EmbedderMismatchError: another model or revision made them.
    """
    name = embedder.card.embedder
    command = f"memlake embed --embedder {name} --corpus {corpus} --representations {representation}"
    dataset = snapshot.vectors(representation, name)
    if dataset is None:
        raise NotFoundError(f"representation={representation!r} was never embedded by embedder={name!r}", hint=command)
    check_card(dataset.schema.metadata, embedder.card, command)
    # An expression, not a text: an id never becomes part of a filter's syntax.
    where = pc.field("corpus") == corpus
    if conversations is not None:
        where &= pc.field("conversation_id").isin(list(conversations))
    return dataset.to_table(columns=["unit_id", "vector"], filter=where)


def _conversation(
    study: Study,
    run_id: str,
    units: pa.Table,
    stored: Mapping[str, pa.Table],
    asked: pa.Table,
    vectors: Vectors | None,
) -> Iterator[Searched]:
    stores: dict[tuple[tuple[str, ...], bool], Store] = {}
    told: set[str] = set()
    for cell in study.cells:
        dense = cell.plan.needs_vectors
        key = (cell.representations, dense)
        if key not in stores:
            chosen = units.filter(pc.is_in(units["representation"], value_set=pa.array(cell.representations)))
            held = [stored[name] for name in cell.representations] if dense else []
            aligned = align_vectors(chosen, pa.concat_tables(held)) if dense else None
            stores[key] = open_store(chosen, vectors=aligned, language=study.language)
        news = pa.array(sorted(set(cell.representations) - told), pa.string())
        told.update(cell.representations)
        tokens = stores[key].unit_tokens if len(news) else UNIT_TOKENS.empty_table()
        mine = vectors if dense else None
        yield Searched(
            run_cell(study.runnable(cell, run_id), store=stores[key], questions=asked, question_vectors=mine),
            tokens.filter(pc.is_in(tokens["representation"], value_set=news)),
        )


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
                hint=_command_that_makes(representation, study.corpus, snapshot),
            )
        size += sum(counts[name][part] for part in wanted)
        group.append(name)
        if size >= GROUP_UNITS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _command_that_makes(name: str, corpus: str, snapshot: Snapshot) -> str:
    """The command that gives conversations a representation: with the settings it is stored with, or from a source."""
    kind = kind_named(name)
    if kind is None:
        return f"its units come from a source: memlake ingest SOURCE --corpus {corpus}, with one that supplies {name}"
    stored = snapshot.read("representations", columns=["settings"], where=pc.field("representation") == name)
    defaults = REPRESENTATIONS[kind].defaults
    settings = json.loads(stored["settings"][0].as_py()) if stored.num_rows else {}
    other = ",".join(f"{key}={value}" for key, value in settings.items() if value != defaults.get(key))
    return f"memlake represent {name}{':' if other else ''}{other} --corpus {corpus}"


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


def _vectors(snapshot: Snapshot, study: Study, embedder: Embedder, group: Sequence[str]) -> dict[str, pa.Table]:
    """Vectors of a group's units by representation, of those that a plan needs them for."""
    names = sorted({name for cell in study.cells if cell.plan.needs_vectors for name in cell.representations})
    return {name: stored_vectors(snapshot, name, study.corpus, embedder, group) for name in names}
