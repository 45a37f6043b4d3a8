"""A study on a corpus: every cell on every conversation that is asked about, some conversations at a time."""

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import UNITS
from transforms.embed.embedder import Embedder, encode
from transforms.embed.vectors import check_card
from transforms.errors import NotFoundError, UsageError
from transforms.lake.snapshot import Snapshot
from transforms.represent.catalogue import REPRESENTATIONS, kind_named
from transforms.retrieve.cell import Found, run_cell
from transforms.retrieve.outputs import Outputs, columns_of, outputs_of
from transforms.retrieve.questions import labelled_questions
from transforms.retrieve.reranker import load_reranker
from transforms.retrieve.store import UNIT_TOKENS, Store, align_vectors, open_store
from transforms.retrieve.study import Study

# Units whose texts and vectors are in memory at one time: about 250 MB, whatever the corpus.
GROUP_UNITS = 100_000
# With a vector a token a unit takes about a hundred times as much.
_GROUP_UNITS_MULTI = 1_000


@dataclass(frozen=True, slots=True)
class Searched:
    """What one conversation's questions brought back in one cell, and UNIT_TOKENS of units that no cell had before."""

    cell: str
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
        NotFoundError: a representation is not stored, or not embedded, for a conversation that is asked about; or a
            plan's reranker is not here.
        EmbedderMismatchError: stored vectors were made by another model or revision than the embedder's.
    """
    wanted = frozenset[str]().union(*(cell.plan.needs for cell in study.cells))
    for cell in study.cells:
        for name in cell.plan.rerankers:
            load_reranker(name)  # a model that is not here is told before any work
    vectors = question_vectors(questions, embedder, wanted)
    for group in _groups(snapshot, study, questions, _GROUP_UNITS_MULTI if "multi" in wanted else GROUP_UNITS):
        units = _by_conversation(_units(snapshot, study, group))
        stored = {} if embedder is None else _vectors(snapshot, study, embedder, group)
        for conversation in group:
            rows = np.flatnonzero(pc.equal(questions["conversation_id"], conversation).to_numpy())
            asked = questions.take(rows)
            mine = None if vectors is None else vectors.take(rows)
            yield from _conversation(study, run_id, units.get(conversation, UNITS.empty()), stored, asked, mine)


def question_vectors(
    questions: pa.Table, embedder: Embedder | None, wanted: Collection[str] = ("dense",)
) -> Outputs | None:
    """Outputs of the questions, none where the model gave a question none; None without a model.

    Args:
        wanted: which outputs the plans need: 'dense', 'sparse', 'multi'.

    Raises:
        UsageError: the embedder does not give one of them.
    """
    if embedder is None:
        return None
    _check_outputs(embedder, wanted)
    return outputs_of(encode(embedder, questions["text"].to_pylist(), questions=True), wanted)


def stored_vectors(
    snapshot: Snapshot,
    representation: str,
    corpus: str,
    embedder: Embedder,
    conversations: Sequence[str] | None = None,
    wanted: Collection[str] = ("dense",),
    *,
    asked: str = "",
) -> pa.Table:
    """Outputs (unit_id, vector, ...) of a corpus's units, or of some conversations', that this very embedder made.

    Args:
        wanted: which outputs the plans need: 'dense', 'sparse', 'multi'.
        asked: the embedder as the user named it, for the command that errors print.

    Raises:
        NotFoundError: the representation was never embedded by an embedder of this name.
        EmbedderMismatchError: another model or revision made them.
        UsageError: the embedder does not give one of the outputs.
    """
    _check_outputs(embedder, wanted)
    name = embedder.card.embedder
    command = (
        f"memlake embed --embedder {shlex.quote(asked or name)} --corpus {corpus} --representations {representation}"
    )
    dataset = snapshot.vectors(representation, name)
    if dataset is None:
        raise NotFoundError(f"representation={representation!r} was never embedded by embedder={name!r}", hint=command)
    check_card(dataset.schema.metadata, embedder.card, command)
    # An expression, not a text: an id never becomes part of a filter's syntax.
    where = pc.field("corpus") == corpus
    if conversations is not None:
        where &= pc.field("conversation_id").isin(list(conversations))
    return dataset.to_table(columns=columns_of(wanted), filter=where)


def _check_outputs(embedder: Embedder, wanted: Collection[str]) -> None:
    if missing := sorted(set(wanted) - embedder.card.outputs):
        raise UsageError(
            f"embedder={embedder.card.embedder!r} gives {', '.join(sorted(embedder.card.outputs))}, and a plan needs "
            f"{', '.join(missing)}",
            hint="--embedder bge-m3-multi" if "multi" in missing else "--embedder bge-m3",
        )


def _conversation(
    study: Study,
    run_id: str,
    units: pa.Table,
    stored: Mapping[str, pa.Table],
    asked: pa.Table,
    vectors: Outputs | None,
) -> Iterator[Searched]:
    stores: dict[tuple[tuple[str, ...], frozenset[str]], Store] = {}
    told: set[str] = set()
    for cell in study.cells:
        embedded = cell.plan.needs_vectors
        key = (cell.representations, cell.plan.needs)
        if key not in stores:
            chosen = units.filter(pc.is_in(units["representation"], value_set=pa.array(cell.representations)))
            held = [stored[name].select(columns_of(cell.plan.needs)) for name in cell.representations if embedded]
            aligned = align_vectors(chosen, pa.concat_tables(held)) if embedded else None
            stores[key] = open_store(chosen, vectors=aligned, language=study.language)
        news = pa.array(sorted(set(cell.representations) - told), pa.string())
        told.update(cell.representations)
        tokens = stores[key].unit_tokens if len(news) else UNIT_TOKENS.empty_table()
        mine = vectors if embedded else None
        yield Searched(
            cell.name,
            run_cell(study.runnable(cell, run_id), store=stores[key], questions=asked, question_vectors=mine),
            tokens.filter(pc.is_in(tokens["representation"], value_set=news)),
        )


def _groups(snapshot: Snapshot, study: Study, questions: pa.Table, most: int) -> Iterator[list[str]]:
    """Conversations that are asked about, in groups of about `most` units; checks that their units are there."""
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
        if size >= most:
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
    wanted: dict[str, set[str]] = {}
    for cell in study.cells:
        for name in cell.representations if cell.plan.needs_vectors else ():
            wanted.setdefault(name, set()).update(cell.plan.needs)
    return {
        name: stored_vectors(snapshot, name, study.corpus, embedder, group, wanted[name], asked=study.embedder)
        for name in sorted(wanted)
    }
