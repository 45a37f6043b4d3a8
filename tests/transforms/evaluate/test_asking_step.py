"""A step that asks a chat model, through the study's model edge, under the name of the cell."""

import asyncio
import re
from concurrent.futures import Future
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pytest
from held_snapshot import HeldSnapshot
from small_tables import rows_of

from memlake.schemas import PARTS, QUESTIONS, UNITS
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.fields import Text
from memlake.transforms.evaluate import corpus
from memlake.transforms.evaluate.corpus import search_corpus
from memlake.transforms.evaluate.price_answers import price_answers
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.protocol.model import Message, Reply, Request
from memlake.transforms.llm.settings import ModelSettings
from memlake.transforms.retrieve import plan
from memlake.transforms.retrieve.steps.step import Part, Stage, Step
from memlake.transforms.study.parse import parse_study

STUDY = """
name = "s"
corpus = "c"
[cutoffs]
k = [1]
[headline]
metric = "mrr"
cutoff_kind = "k"
cutoff = 1
[plans.asks]
steps = [{ step = "seed_lexical" }, { step = "rank" }, { step = "ask_how_much", model = "m" }, { step = "pack" }]
[[cells]]
name = "one"
representations = ["r"]
plan = "asks"
[[cells]]
name = "plain"
representations = ["r"]
plan = "lexical"
"""
EDGE = EdgeSettings("lake", "run", "http://127.0.0.1:1", "test", "quota")


class AskHowMuch(Step):
    """Candidates by the number that a model says of question and unit."""

    stage: ClassVar[Stage] = "rerank"
    part: ClassVar[str] = "said"
    step: Literal["ask_how_much"]
    model: Text

    @property
    def chat_models(self):
        return (self.model,)

    def apply(self, search):
        texts = search.store.units["show_text"].to_pylist()
        requests = [
            Request(self.model, (Message("user", f"{question} | {text}"),), max_tokens=5)
            for question in search.texts
            for text in texts
        ]
        replies = search.ask(requests, about="which unit answers")
        said = np.array([float(reply.text) for reply in replies]).reshape(len(search.texts), len(texts))
        found = search.with_part(self.part, Part(said))
        return replace(found, order=np.argsort(-said, axis=1, kind="stable"))


class ScriptedEdge:
    """Says the number in the text of the unit, and keeps what it was asked."""

    def __init__(self):
        self.asked, self.opened, self.closed = [], [], 0

    def open(self, settings):
        self.opened.append(settings.cell)
        return self

    async def ask(self, request, *, stage, about):
        self.asked.append((stage, about, request.messages[0].content))
        return Reply(request.hash("test"), "ok", re.search(r"\d+", request.messages[0].content)[0])

    def submit(self, work):
        done = Future()
        done.set_result(asyncio.run(work))
        return done

    def close(self):
        self.closed += 1


@pytest.fixture
def edge(monkeypatch):
    monkeypatch.setitem(plan.STEPS, "ask_how_much", AskHowMuch)
    edge = ScriptedEdge()
    monkeypatch.setattr(corpus, "open_edge", edge.open)
    return edge


@pytest.fixture
def held():
    units = [{"representation": "r", "unit_id": f"u{n}", "show_text": f"{n * 7 % 5}"} for n in range(3)]
    return HeldSnapshot(units=rows_of(UNITS, units), parts=rows_of(PARTS, [{"part": "units:r", "rows": 3}]))


def searched(held, edge=EDGE):
    study = parse_study(STUDY, source="s.toml")
    questions = rows_of(QUESTIONS, [{"question_id": "q", "text": "which"}])
    return {
        found.cell: found.found.retrievals
        for found in search_corpus(held, study, study.corpora[0], "run", questions, None, edge)
    }


def test_a_step_asks_the_model_edge_and_what_it_said_is_kept(edge, held):
    rows = searched(held)
    assert rows["one"].select(["unit_id", "parts"]).to_pylist() == [
        {"unit_id": "u2", "parts": [("said", 4.0)]},
        {"unit_id": "u1", "parts": [("said", 2.0)]},
        {"unit_id": "u0", "parts": [("said", 0.0)]},
    ]
    assert edge.asked == [("retrieve", "which unit answers", f"which | {number}") for number in (0, 2, 4)]
    # Only for the cell whose plan asks one, and given back.
    assert (edge.opened, edge.closed) == (["one"], 1)


def test_a_study_says_that_its_plans_ask_a_model_and_without_one_they_are_refused(edge, held):
    study = parse_study(STUDY, source="s.toml")
    assert study.asks_models == ("m",)
    with pytest.raises(UsageError, match="a step of the plan asks a model, and none is open"):
        searched(held, None)
    (row,) = price_answers(None, held, study, [], ModelSettings(), stored=True)
    assert (row["state"], "a step of a plan asks a model" in row["note"]) == ("not known yet", True)
