"""Search: what a plan retrieves for one text, across the conversations of a corpus."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import QUESTIONS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.catalogue import opened, served_models
from memlake.transforms.embed.embedder import Embedder
from memlake.transforms.embed.outputs import Outputs
from memlake.transforms.evaluate.corpus import question_vectors, stored_vectors
from memlake.transforms.evaluate.stored_units import StoredUnits
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import open_models
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.retrieve.cell import Cell, run_cell
from memlake.transforms.retrieve.plan import PLANS, Plan, find_plan
from memlake.transforms.retrieve.steps.step import Cutoffs

# Units that each seed of a plan names at first: enough for most questions.
_LEADERS = 256
# How far rounding to float32 may move a score, of its size.
_ROUNDING = 2.0**-20


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
    question = _question(settings)
    with _embedder(settings, lake, plan) as embedder:
        outputs = question_vectors(question, embedder, plan.needs)
        units = _units(snapshot, settings, plan, embedder)
        retrievals, shown = _best(units, plan, question, outputs, settings.k)
    by_id = {row["unit_id"]: row for row in shown.select(["unit_id", "conversation_id", "show_text"]).to_pylist()}
    ranked = retrievals.select(["rank", "score", "dense", "lexical", "unit_id"]).to_pylist()
    there = 1 if settings.conversation else _conversations(snapshot, settings.corpus)
    without_units = there - pc.count_distinct(units.keys["conversation_id"]).as_py()
    return Hits([{**row, **by_id[row["unit_id"]]} for row in ranked], there, without_units)


def _best(
    units: StoredUnits, plan: Plan, question: pa.Table, outputs: Outputs | None, k: int
) -> tuple[pa.Table, pa.Table]:
    """The k best units by a plan, as rows of retrievals, and rows of the units among them.

    Where the plan adds up, no more than the leaders of each seed are ranked: no unit beyond them reaches the k-th if that
    is better than a unit that has of every seed the most that is left. Else there are more leaders, in the end all units.
    """
    cell = Cell("search", "search", plan, "chars4", Cutoffs(k=(k,)), depth=k)
    first = units.first
    leading = max(_LEADERS, 4 * k) if plan.adds_up else len(first)
    while True:
        bound, chosen, tied = np.inf, first, False
        if leading < len(first):
            text = question["text"][0].as_py()
            leaders = [seed.leaders(units.stock, text, outputs, leading) for seed in plan.seeds]
            bound = plan.fused({seed.part: by.part for seed, by in zip(plan.seeds, leaders, strict=True)})[0, 1]
            # What all other units tie with goes by unit_id.
            tied = all(by.whole for by in leaders)
            chosen = np.concatenate([first[:k], *(by.units for by in leaders)])
        store, shown = units.store(chosen)
        found = run_cell(cell, store=store, questions=question, question_vectors=outputs).retrievals.slice(0, k)
        last = found["score"][-1].as_py() if found.num_rows == k else -np.inf
        if leading >= len(first) or tied or last > bound + _ROUNDING * max(abs(bound), 1.0):
            return found, shown
        leading *= 8


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


def _units(snapshot: Snapshot, settings: SearchSettings, plan: Plan, embedder: Embedder | None) -> StoredUnits:
    where = pc.field("corpus") == settings.corpus
    if settings.conversation:
        where &= pc.field("conversation_id") == settings.conversation
    of = (snapshot, settings.representation)
    units = StoredUnits(*of, where)
    if not units.keys.num_rows:
        conversation = f" conversation={settings.conversation!r}" if settings.conversation else ""
        raise NotFoundError(
            f"corpus={settings.corpus!r}{conversation} has no units of representation={settings.representation!r} "
            f"in snapshot={snapshot.snapshot_id}",
            hint="memlake sql 'select corpus, representation, count(*) as units from units group by all'",
        )
    if embedder is None:
        return units
    vectors = stored_vectors(*of, settings.corpus, embedder, plan.needs, asked=settings.embedder)
    return StoredUnits(*of, where, vectors, plan.needs)


def _question(settings: SearchSettings) -> pa.Table:
    return QUESTIONS.rows(
        [
            {
                "corpus": settings.corpus,
                "conversation_id": "",
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
