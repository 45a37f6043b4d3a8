"""A search for one text holds few units, and finds what ranking all of them finds."""

import numpy as np
import pytest
from sample_chats import write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.static import load_static
from memlake.transforms.evaluate import search as searching
from memlake.transforms.evaluate.search import SearchSettings, search
from memlake.transforms.evaluate.stored_units import StoredUnits
from memlake.transforms.retrieve.plan import Plan

WORDS = ["gate", "code", "shoe", "river", "stone", "lamp", "wall", "key", "green", "blue", "market", "late"]
TEXTS = ("gate code", "the green lamp by the river", "lamp lamp wall", "zebra", "of the")


class NoZebra:
    """The static embedder, but texts with a zebra have no vector."""

    def __init__(self):
        self._static = load_static()
        self.card = self._static.card

    def embed(self, texts):
        vectors = self._static.embed(texts)
        vectors[["zebra" in text for text in texts]] = 0
        return vectors


@pytest.fixture(scope="module", autouse=True)
def embedder():
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(catalogue._loaded, "static", NoZebra())
        yield


@pytest.fixture(scope="module")
def lake(tmp_path_factory, embedder):
    """Three ingests, so that vectors lie in several fragments; equal texts in many units, and some without a vector."""
    folder = tmp_path_factory.mktemp("searched")
    generator = np.random.default_rng(3)
    for number in range(3):
        conversations = []
        for place in range(4):
            texts = [" ".join(generator.choice(WORDS, int(generator.integers(1, 4)))) for _ in range(20)]
            texts += ["zebra", "gate code"]
            turns = [{"turn_id": f"t{turn}", "text": text, "speaker": "Ana"} for turn, text in enumerate(texts)]
            conversations.append({"conversation_id": f"c{number}-{place}", "turns": turns})
        source = write_conversations(folder / f"{number}.jsonl", conversations)
        ingest(IngestSettings(str(folder / "lake"), "c", (str(source),), representations=("turns",)))
    return str(folder / "lake")


@pytest.mark.parametrize("leaders", [1, 20])
@pytest.mark.parametrize("plan", ["hybrid", "dense", "lexical", "rrf"])
def test_the_best_of_few_are_the_best_of_all_to_the_last_bit(lake, plan, leaders, monkeypatch):
    wishes = [
        SearchSettings(lake, text, "c", representation="turns", plan=plan, k=k, conversation=conversation)
        for text in TEXTS
        for k in (1, 7, 400)
        for conversation in ("", "c1-2")
    ]
    monkeypatch.setattr(searching, "_LEADERS", leaders)
    few = [search(wish) for wish in wishes]
    monkeypatch.setattr(Plan, "adds_up", property(lambda _: False))
    assert few == [search(wish) for wish in wishes]
    assert [len(hits.rows) for hits in few[:6]] == [1, 1, 7, 7, 264, 22]


def test_only_units_that_may_be_among_the_best_are_held(lake, monkeypatch):
    held, store = [], StoredUnits.store

    def counted(units, chosen):
        made = store(units, chosen)
        held.append(len(made[0]))
        return made

    monkeypatch.setattr(StoredUnits, "store", counted)
    monkeypatch.setattr(searching, "_LEADERS", 20)
    for plan in ("hybrid", "dense", "lexical"):
        search(SearchSettings(lake, "market stone", "c", representation="turns", plan=plan, k=3))
    assert len(held) >= 3
    assert max(held) < 264 / 2
    search(SearchSettings(lake, "market stone", "c", representation="turns", plan="rrf", k=3))
    assert held[-1] == 264
