"""Search: what a plan retrieves for one text, across the conversations of a corpus."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from schemas import QUESTIONS
from transforms.embed.catalogue import load
from transforms.errors import NotFoundError, UsageError
from transforms.lake.lake import open_lake
from transforms.lake.snapshot import Snapshot
from transforms.retrieve.cell import Cell, run_cell
from transforms.retrieve.corpus import question_vectors
from transforms.retrieve.plan import find_plan
from transforms.retrieve.search import Cutoffs
from transforms.retrieve.store import align_vectors, open_store


@dataclass(frozen=True)
class SearchSettings:
    """What `memlake search` is told; no conversation means each of the corpus, ranked together."""

    lake: str
    text: str
    corpus: str
    representation: str = "chunks"
    plan: str = "hybrid"
    embedder: str = "static"
    k: int = 5
    conversation: str = ""
    at: str = "latest"


def search(settings: SearchSettings) -> list[dict[str, object]]:
    """The best units for a text: rank, score and its parts, conversation, unit id, what a reader would see.

    Raises:
        NotFoundError: no such lake, snapshot, corpus, conversation, representation, plan or embedder.
        UsageError: an empty text, or k below 1.
    """
    if not settings.text.strip() or settings.k < 1:
        raise UsageError(
            f"text={settings.text!r} k={settings.k}: a text and k >= 1 are needed", hint="memlake search TEXT"
        )
    plan = find_plan(settings.plan)
    snapshot = open_lake(settings.lake).snapshot(settings.at)
    units = _units(snapshot, settings)
    question = _question(settings, units)
    embedder = load(settings.embedder) if plan.needs_vectors else None
    vectors = question_vectors(question, embedder)
    cell = Cell("search", "search", plan, "chars4", Cutoffs(k=(settings.k,)), depth=settings.k)
    # One store ranks units of all conversations together: here nobody has said which conversation is asked about.
    whole = units.set_column(
        1, units.schema.field("conversation_id"), question["conversation_id"].take(pa.array([0] * units.num_rows))
    )
    aligned = None if embedder is None else align_vectors(whole, _vectors(snapshot, settings))
    found = run_cell(cell, store=open_store(whole, vectors=aligned), questions=question, question_vectors=vectors)
    ranked = found.retrievals.select(["rank", "score", "dense", "lexical", "unit_id"]).to_pylist()[: settings.k]
    by_id = {row["unit_id"]: row for row in units.to_pylist()}
    return [
        {
            **row,
            "conversation_id": by_id[row["unit_id"]]["conversation_id"],
            "show_text": by_id[row["unit_id"]]["show_text"],
        }
        for row in ranked
    ]


def _units(snapshot: Snapshot, settings: SearchSettings) -> pa.Table:
    where = (pc.field("corpus") == settings.corpus) & (pc.field("representation") == settings.representation)
    if settings.conversation:
        where &= pc.field("conversation_id") == settings.conversation
    units = snapshot.read("units", where=where)
    if not units.num_rows:
        conversation = f" conversation={settings.conversation!r}" if settings.conversation else ""
        raise NotFoundError(
            f"corpus={settings.corpus!r}{conversation} has no units of representation={settings.representation!r} "
            f"in snapshot={snapshot.snapshot_id}",
            hint="memlake sql 'select corpus, representation, count(*) as units from units group by all'",
        )
    return units


def _question(settings: SearchSettings, units: pa.Table) -> pa.Table:
    return QUESTIONS.rows(
        [
            {
                "corpus": settings.corpus,
                "conversation_id": units["conversation_id"][0].as_py(),
                "question_id": "search",
                "label_set": "",
                "position": 0,
                "text": settings.text,
                "answers": [],
                "answer_tokens": [],
                "category": "",
                "options": [],
                "answerable": True,
            }
        ]
    )


def _vectors(snapshot: Snapshot, settings: SearchSettings) -> pa.Table:
    dataset = snapshot.vectors(settings.representation, settings.embedder)
    if dataset is None:
        raise NotFoundError(
            f"representation={settings.representation!r} was never embedded by embedder={settings.embedder!r}",
            hint=f"memlake embed --embedder {settings.embedder} --corpus {settings.corpus}",
        )
    return dataset.to_table(columns=["unit_id", "vector"], filter=pc.field("corpus") == settings.corpus)
