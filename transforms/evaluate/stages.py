"""The stages of a study: ask, search, answer and judge, score; each stages files and keeps memory flat."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from memlake.schemas import TABLES
from memlake.transforms.answer.answering import answer_contexts
from memlake.transforms.answer.judging import judge_answers
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed.catalogue import opened
from memlake.transforms.evaluate.corpus import cell_rows, model_of, search_corpus
from memlake.transforms.evaluate.inputs import each_once, questions_of
from memlake.transforms.lake.commit.publish import forgotten_of
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.files import StagedFile, Stager
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.edge import Edge, EdgeSettings
from memlake.transforms.retrieve.store.store import UNIT_TOKENS
from memlake.transforms.score.scores import evaluate
from memlake.transforms.score.source_tokens import source_tokens_of
from memlake.transforms.score.statistics.agreement import unlike_judges
from memlake.transforms.score.statistics.costs import costs_of
from memlake.transforms.score.statistics.statistics import statistics_of
from memlake.transforms.study.study import Study, StudyCell, StudyCorpus

# What can be the matter with a reply; other reasons are the question's own.
_FAILED = (
    "refused", "filtered", "cut", "too_long", "rejected", "transient", "missing", "empty", "unparsable_verdict",
)  # fmt: skip
# Contexts whose answers are asked for together: some megabytes of text, and calls enough to keep any limit busy.
_BLOCK = 2_000
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class CorpusQuestions:
    """What one corpus is asked: its labels, a row a question and label set, and how many questions were forgotten."""

    corpus: StudyCorpus
    labels: pa.Table
    forgotten: int

    @property
    def questions(self) -> pa.Table:
        """Each question once."""
        return each_once(self.labels)


@dataclass(frozen=True, slots=True)
class Brought:
    """What a run has made so far.

    Attributes:
        unit_tokens: rows of UNIT_TOKENS of what was searched.
        cut: by cell, pairs that were too long for its reranker.
        seconds: by corpus and cell, how long searching took.
        failures: answers and verdicts that failed for a model's reason, and how many were asked for.
    """

    asked: tuple[CorpusQuestions, ...]
    files: tuple[StagedFile, ...]
    unit_tokens: pa.Table
    cut: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    answers: int = 0
    judgements: int = 0
    failures: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores, losses and statistics, staged.

    Attributes:
        excluded: questions that were not scored, by reason.
        signatures: of metrics of texts.
        empty: cells and token budgets at which contexts show nothing, and how many of them.
    """

    files: tuple[StagedFile, ...]
    excluded: Mapping[str, int]
    signatures: Mapping[str, str]
    empty: Sequence[Mapping[str, Any]]


def asked_of(lake: Lake, snapshot: Snapshot, study: Study) -> tuple[CorpusQuestions, ...]:
    """The questions' rows less those of conversations forgotten by now, whatever snapshot is read.

    Raises:
        NotFoundError: the snapshot has no such question, or all of a corpus are of forgotten conversations.
    """
    return tuple(_asked(lake, snapshot, study, corpus) for corpus in study.corpora)


def _asked(lake: Lake, snapshot: Snapshot, study: Study, corpus: StudyCorpus) -> CorpusQuestions:
    labels = questions_of(snapshot, study, corpus)
    gone = pc.is_in(labels["conversation_id"], value_set=forgotten_of(lake.latest(), corpus.name))
    forgotten = len(pc.unique(labels["question_id"].filter(gone)))
    if pc.all(gone).as_py():
        raise NotFoundError(
            f"corpus={corpus.name!r}: the conversations of all {forgotten} questions in "
            f"snapshot={snapshot.snapshot_id} were forgotten since",
            hint="memlake snapshots ls",
        )
    return CorpusQuestions(corpus, labels.filter(pc.invert(gone)), forgotten)


def search_study(
    lake: Lake,
    snapshot: Snapshot,
    study: Study,
    run_id: str,
    asked: Sequence[CorpusQuestions],
    edge: EdgeSettings | None,
    provider: str,
) -> Brought:
    """Stage what each cell brings as it comes, so that memory does not grow with a corpus."""
    stager = Stager(lake.root)
    tokens = [UNIT_TOKENS.empty_table()]
    cut, seconds = Counter[str](), dict[tuple[str, str], float]()
    with opened(study.embedder, edge) if study.needs_vectors else nullcontext() as embedder:
        for corpus_questions in asked:
            rows = cell_rows(
                study, corpus_questions.corpus, run_id=run_id, read_snapshot_id=snapshot.snapshot_id, provider=provider
            )
            stager.write(TABLES["cells"], rows)
            for searched in search_corpus(
                snapshot, study, corpus_questions.corpus, run_id, corpus_questions.questions, embedder, edge
            ):
                tokens.append(searched.unit_tokens)
                stager.write(TABLES["retrievals"], searched.found.retrievals)
                stager.write(TABLES["contexts"], searched.found.contexts)
                cut[searched.cell] += searched.found.rerank_cut
                key = (corpus_questions.corpus.name, searched.cell)
                seconds[key] = seconds.get(key, 0.0) + searched.seconds
    cut = Counter({cell: pairs for cell, pairs in cut.items() if pairs})
    return Brought(tuple(asked), tuple(stager.close()[0]), pa.concat_tables(tokens), cut, seconds)


def answer_study(lake: Lake, study: Study, brought: Brought, edge: EdgeSettings | None) -> Brought:
    """Let every cell's reader answer, and every judge give its verdict, a block of contexts at a time."""
    stager = Stager(lake.root)
    asked, failed = Counter[str](), Counter[str]()
    for corpus_questions in brought.asked:
        corpus, questions, labels = corpus_questions.corpus, corpus_questions.questions, corpus_questions.labels
        for cell in study.cells_of(corpus.name):
            reader = study.reader_of(cell)
            if reader is None:
                continue
            with model_of(edge, cell) as model:
                for contexts in _contexts(lake, study, brought.files, corpus, cell):
                    answering = answer_contexts(reader, contexts, questions, model, language=corpus.language)
                    answers = _run(answering, model)
                    made = {"answers": [answers], "judgements": []}
                    for judge in study.judges_of(corpus.name):
                        verdicts = judge_answers(judge, answers, labels, model, language=corpus.language)
                        made["judgements"].append(_run(verdicts, model))
                    for name, tables in made.items():
                        for table in tables:
                            stager.write(TABLES[name], table)
                            asked[name] += table.num_rows
                            failed[name] += _failed(table, "text" if name == "answers" else "correct")
    files = stager.close()[0]
    return replace(
        brought,
        files=(*brought.files, *files),
        answers=asked["answers"],
        judgements=asked["judgements"],
        failures={name: (failed[name], number) for name, number in asked.items()},
    )


def score_study(lake: Lake, snapshot: Snapshot, study: Study, run_id: str, brought: Brought) -> Scored:
    """Scores, losses, statistics and costs of a run whose rows are staged and not yet published."""
    with connect(lake, snapshot) as connection:
        for name in ("cells", "retrievals", "contexts", "answers", "judgements"):
            paths = _paths(lake, brought.files, name)
            if paths:
                connection.read_parquet(paths).create_view(name, replace=True)
        # What is scored is what was asked, under the labels and in the language of the study.
        connection.register("questions", pa.concat_tables(asked.labels for asked in brought.asked))
        sources = [
            source_tokens_of(
                snapshot, asked.corpus.name, pc.unique(asked.labels["conversation_id"]), asked.corpus.language
            )
            for asked in (brought.asked if brought.judgements else ())
        ]
        made = evaluate(
            connection, run_id, unit_tokens=brought.unit_tokens, source_tokens=sources, unlike=unlike_judges(study)
        )
        connection.register("scores", made.scores)
        excluded = dict(connection.execute(_EXCLUDED).fetchall())
        empty = connection.sql(EMPTY_CONTEXTS, params={"run_id": run_id}).to_arrow_table().to_pylist()
        judgements = connection.table("judgements").to_arrow_table().cast(TABLES["judgements"].schema)
        costs = costs_of(connection, run_id, study, seconds=brought.seconds)
    stager = Stager(lake.root)
    stager.write(TABLES["scores"], made.scores)
    stager.write(TABLES["losses"], made.losses)
    stager.write(TABLES["statistics"], statistics_of(made.scores, judgements, study, run_id=run_id))
    stager.write(TABLES["statistics"], costs)
    return Scored(tuple(stager.close()[0]), excluded, made.signatures, empty)


def _run(work: Coroutine[Any, Any, Result], model: Edge | None) -> Result:
    return asyncio.run(work) if model is None else model.submit(work).result()


def _contexts(
    lake: Lake, study: Study, files: Sequence[StagedFile], corpus: StudyCorpus, cell: StudyCell
) -> Iterator[pa.Table]:
    """The staged contexts that a cell's reader is asked about, a block at a time."""
    where = (pc.field("corpus") == corpus.name) & (pc.field("cell") == cell.name)
    at = pc.scalar(False)
    for kind, cutoff in study.answered(cell).pairs:
        at = at | ((pc.field("cutoff_kind") == kind) & (pc.field("cutoff") == cutoff))
    rows = ds.dataset(_paths(lake, files, "contexts")).scanner(filter=where & at, batch_size=_BLOCK, batch_readahead=1)
    held: list[pa.RecordBatch] = []
    for batch in rows.to_batches():
        held.append(batch)
        if sum(part.num_rows for part in held) >= _BLOCK:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _failed(rows: pa.Table, value: str) -> int:
    """How many of them a model failed at; what nobody could answer or judge is no failure."""
    without = rows.filter(pc.is_null(rows[value]))
    return int(pc.sum(pc.is_in(without["reason"], value_set=pa.array(_FAILED))).as_py() or 0)


def _paths(lake: Lake, files: Sequence[StagedFile], table: str) -> list[str]:
    return [str(file.path_in(lake.root)) for file in files if file.table == table]


EMPTY_CONTEXTS = """
select corpus, cell, cutoff, empty, contexts from empty_contexts where run_id = $run_id order by corpus, cell, cutoff
"""
# Questions, not rows: a question without gold is left out of every cutoff of every cell for one reason.
_EXCLUDED = """
select reason, count(distinct (corpus, question_id)) from scores where reason is not null group by reason order by reason
"""
