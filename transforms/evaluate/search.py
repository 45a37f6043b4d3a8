"""Search: what a plan retrieves for one text, across the conversations of a corpus."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import QUESTIONS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.catalogue import opened, served_models
from memlake.transforms.embed.embedder import Embedder
from memlake.transforms.evaluate.corpus import question_vectors, stored_vectors
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import open_models
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.retrieve.cell import Cell, run_cell
from memlake.transforms.retrieve.plan import PLANS, Plan, find_plan
from memlake.transforms.retrieve.steps.search import Cutoffs
from memlake.transforms.retrieve.store.store import align_vectors, open_store


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
    models: ModelSettings = field(default_factory=ModelSettings)


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found.

    Attributes:
        rows: the best units: rank, score and its parts, conversation, unit id, what a reader would see.
        conversations: how many conversations were to be searched.
        without_units: how many of them have no units of the representation.
    """

    rows: list[dict[str, object]]
    conversations: int
    without_units: int


def search(settings: SearchSettings) -> Hits:
    """The best units for a text, and how much of the corpus could not be searched.

    Raises:
        NotFoundError: no such lake, snapshot, corpus, conversation, representation, plan or embedder.
        EmbedderMismatchError: the stored vectors were made by another model or revision.
        UsageError: an empty text, or k below 1.
    """
    if not settings.text.strip() or settings.k < 1:
        raise UsageError(
            f"text={settings.text!r} k={settings.k}: a text and k >= 1 are needed", hint="memlake search TEXT"
        )
    plan = find_plan(settings.plan)
    if plan.reads:
        raise UsageError(
            f"plan={settings.plan!r} reads {', '.join(sorted(plan.reads))}, which a search for one text has not: allowed "
            f"are {', '.join(name for name in PLANS if not find_plan(name).reads)}",
            hint="--plan hybrid",
        )
    lake = open_lake(settings.lake)
    snapshot = lake.snapshot(settings.at)
    units = _units(snapshot, settings)
    question = _question(settings, units)
    cell = Cell("search", "search", plan, "chars4", Cutoffs(k=(settings.k,)), depth=settings.k)
    # One store ranks units of all conversations together: here nobody has said which conversation is asked about.
    whole = units.set_column(
        1, units.schema.field("conversation_id"), question["conversation_id"].take(pa.array([0] * units.num_rows))
    )
    with _embedder(settings, lake, plan) as embedder:
        vectors = question_vectors(question, embedder, plan.needs)
        aligned = None
        if embedder is not None:
            where = (snapshot, settings.representation, settings.corpus)
            aligned = align_vectors(whole, stored_vectors(*where, embedder, wanted=plan.needs, asked=settings.embedder))
    found = run_cell(cell, store=open_store(whole, vectors=aligned), questions=question, question_vectors=vectors)
    ranked = found.retrievals.select(["rank", "score", "dense", "lexical", "unit_id"]).to_pylist()[: settings.k]
    by_id = {row["unit_id"]: row for row in units.to_pylist()}
    rows = [
        {
            **row,
            "conversation_id": by_id[row["unit_id"]]["conversation_id"],
            "show_text": by_id[row["unit_id"]]["show_text"],
        }
        for row in ranked
    ]
    there = 1 if settings.conversation else _conversations(snapshot, settings.corpus)
    return Hits(rows, there, there - pc.count_distinct(units["conversation_id"]).as_py())


@contextmanager
def _embedder(settings: SearchSettings, lake: Lake, plan: Plan) -> Iterator[Embedder | None]:
    """The embedder that the plan needs, through the model edge where a server embeds; None for a plan without vectors."""
    if not plan.needs_vectors:
        yield None
        return
    asked = served_models(settings.embedder)
    run_id = f"search-{os.urandom(8).hex()}"
    with (
        open_models(settings.models, lake, run_id, needed=bool(asked), models=tuple(asked)) as models,
        opened(settings.embedder, models.edge) as embedder,
    ):
        yield embedder


def _conversations(snapshot: Snapshot, corpus: str) -> int:
    return snapshot.read("conversations", columns=["conversation_id"], where=pc.field("corpus") == corpus).num_rows


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
