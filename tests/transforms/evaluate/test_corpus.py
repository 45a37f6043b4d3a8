"""A study on a corpus, from tables held in memory: every conversation gets what its plans read, and no other's."""

import numpy as np
import pytest
from held_snapshot import HeldSnapshot
from small_tables import rows_of

from memlake.schemas import EVIDENCE, LINKS, PROVENANCE, QUESTIONS, TABLES, UNITS
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.evaluate import corpus
from memlake.transforms.evaluate.corpus import search_corpus
from memlake.transforms.evaluate.inputs import each_once, questions_of
from memlake.transforms.study.parse import parse_study

TALK = [("8 May", [("Ann", "red stone"), ("Bo", "blue stone"), ("Ann", "green leaf")])]
HEAD = 'name = "s"\ncorpus = "c"\n[cutoffs]\ntokens = [500]\n[headline]\nmetric = "mrr"\ncutoff_kind = "tokens"\ncutoff = 500\n'
PLANS = {
    "linked": '{ step = "seed_lexical" }, { step = "rank", candidates = 1 }, { step = "expand", relations = ["similar"] }',
    "turns": '{ step = "seed_lexical" }, { step = "rank", candidates = 1 }, { step = "project" }',
    "oracle": '{ step = "seed_gold" }, { step = "rank" }',
}


def study_of(*plans, representations=("r",), more=""):
    text = HEAD + more
    for name in plans:
        if name in PLANS:
            text += f'[plans.{name}]\nsteps = [{PLANS[name]}, {{ step = "pack" }}]\n'
    for name in plans:
        for representation in representations:
            text += f'[[cells]]\nname = "{name}-{representation}"\nrepresentations = ["{representation}"]\nplan = "{name}"\n'
    return parse_study(text, source="s.toml")


@pytest.fixture
def held(turns_of, memory_of):
    """Three conversations alike; in each the first unit is linked to the last, and the gold turn is the second."""
    names = ["v0", "v1", "v2"]
    made = {"units": [], "provenance": [], "links": [], "questions": [], "evidence": [], "parts": []}
    for name in names:
        memory = memory_of(TALK)
        here = {"conversation_id": name}
        for turn in memory.turns.to_pylist():
            memory.slice(f"{name}-{turn['ordinal']}", turn["char_start"], turn["char_end"])
        memory.link(f"{name}-0", f"{name}-2")
        made["units"] += [row | here for row in memory.units]
        made["provenance"] += [row | here | {"representation": "r"} for row in memory.pieces]
        made["links"] += [row | here | {"representation": "r"} for row in memory.links]
        question = {"question_id": f"{name}:q", "label_set": "official", "text": "red", "answer": "stone"}
        made["questions"].append(question | here)
        made["evidence"].append(
            {"question_id": f"{name}:q", "label_set": "official", "ordinal": 1, "status": "valid"} | here
        )
        made["parts"].append({"part": "units:r", "rows": 3} | here)
    schemas = {"units": UNITS, "provenance": PROVENANCE, "links": LINKS, "questions": QUESTIONS, "evidence": EVIDENCE}
    tables = {name: rows_of(TABLES[name] if name == "parts" else schemas[name], rows) for name, rows in made.items()}
    return HeldSnapshot(**tables, turns=turns_of(dict.fromkeys(names, TALK)))


def found_by(held, study):
    corpus = study.corpora[0]
    questions = each_once(questions_of(held, study, corpus))
    return list(search_corpus(held, study, corpus, "run", questions, None))


def test_every_cell_of_every_conversation_gets_its_own_tables(held):
    found = found_by(held, study_of("linked", "turns", "oracle", "lexical"))
    assert [searched.cell for searched in found] == ["linked-r", "turns-r", "oracle-r", "lexical-r"] * 3
    for number, name in enumerate(("v0", "v1", "v2")):
        linked, turns, oracle, lexical = (searched.found for searched in found[4 * number : 4 * number + 4])
        assert linked.retrievals["unit_id"].to_pylist() == [f"{name}-0", f"{name}-2"]
        assert linked.contexts["store_share"].to_pylist() == [2 / 3]
        assert turns.contexts["text"].to_pylist() == ["[8 May] Ann: red stone"]
        assert oracle.retrievals["unit_id"].to_pylist() == [f"{name}-1"]
        assert lexical.retrievals.num_rows == 3
        assert {row["conversation_id"] for row in lexical.contexts.to_pylist()} == {name}
    assert all(searched.seconds > 0 for searched in found)
    assert [searched.unit_tokens.num_rows > 0 for searched in found] == [True, False, False, False] * 3


def test_what_no_plan_reads_is_not_read_and_the_rest_in_groups(held, monkeypatch):
    monkeypatch.setattr(corpus, "GROUP_UNITS", 3)
    found_by(held, study_of("lexical"))
    assert {table for table, _ in held.seen} == {"questions", "parts", "units"}
    held.seen.clear()
    found_by(held, study_of("linked", "turns"))
    rows = {table: [count for name, count in held.seen if name == table] for table, _ in held.seen}
    assert rows["units"] == rows["turns"] == [3, 3, 3]
    assert rows["links"] == [1, 1, 1]
    assert "evidence" not in rows


def test_cells_of_one_representation_share_a_store(held, monkeypatch):
    opened = []
    whole = corpus.open_store
    monkeypatch.setattr(corpus, "open_store", lambda *units, **more: opened.append(1) or whole(*units, **more))
    found_by(held, study_of("linked", "turns", "lexical"))
    assert len(opened) == 3


def test_a_plan_that_expands_where_nothing_is_linked_is_refused_with_the_command(held):
    held.tables["links"] = held.tables["links"].slice(0, 0)
    with pytest.raises(NotFoundError, match="representation='r' of corpus='c' has no links of relation=similar") as no:
        found_by(held, study_of("linked"))
    assert no.value.hint == "memlake link r --corpus c"


def test_a_plan_that_looks_for_gold_of_a_label_set_that_is_not_there_is_refused(held):
    held.tables["evidence"] = held.tables["evidence"].slice(0, 0)
    with pytest.raises(NotFoundError, match="no evidence of label_set='official'"):
        found_by(held, study_of("oracle"))


def test_a_conversation_without_the_units_is_refused(held):
    held.tables["parts"] = held.tables["parts"].slice(0, 2)
    with pytest.raises(NotFoundError, match="conversation='v2' of corpus='c' has no units of representation='r'"):
        found_by(held, study_of("lexical"))


def test_a_corpus_that_asks_nothing_is_refused(held):
    held.tables["questions"] = held.tables["questions"].slice(0, 0)
    with pytest.raises(NotFoundError, match="corpus='c' has no questions"):
        found_by(held, study_of("lexical"))


def test_a_second_run_gives_the_same_rows(held):
    study = study_of("linked", "turns", "random", "full")
    first, again = (
        [(found.cell, found.found.retrievals, found.found.contexts) for found in found_by(held, study)] for _ in "ab"
    )
    assert first == again
    assert len(first) == 12
    assert np.unique([len(table) for _, table, _ in first]).tolist() == [1, 2, 3]
