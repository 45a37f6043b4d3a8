"""The lexical seed's other ways of counting: a text more than once, and Okapi's formula."""

import pytest

TALK = [
    ("8 May", [("Ann", "the apple pie and the apple"), ("Bo", "an apple."), ("Ann", "pie, of sorts; long talk of it")])
]
END = [{"step": "rank"}, {"step": "pack"}]


@pytest.fixture
def memory(memory_of):
    memory = memory_of(TALK)
    for turn in memory.turns.to_pylist():
        memory.slice(f"u{turn['ordinal']}", turn["char_start"], turn["char_end"], lead="")
    return memory


def scores(searched, memory, asked, **settings):
    found = searched([{"step": "seed_lexical", **settings}, *END], memory.store(), asked("apple pie", "the talk"))
    return {(row["question_id"], row["unit_id"]): row["lexical"] for row in found.retrievals.to_pylist()}


@pytest.mark.parametrize("formula", ["lucene", "okapi"])
def test_a_text_counted_twice_scores_as_one_that_is_written_twice(searched, memory, asked, formula):
    counted = scores(searched, memory, asked, formula=formula, copies=2)
    once = scores(searched, memory, asked, formula=formula)
    for unit in memory.units:
        unit["key_text"] = f"{unit['key_text']} {unit['key_text']}"
    assert counted == scores(searched, memory, asked, formula=formula)
    assert counted != once


def test_okapi_has_its_own_words_and_settings(searched, memory, asked):
    okapi = scores(searched, memory, asked, formula="okapi")
    # No stop words: `the` is a word like any other.
    assert okapi["q1", "u0"] > 0
    assert scores(searched, memory, asked)["q1", "u0"] == 0
    assert okapi != scores(searched, memory, asked, formula="okapi", k1=0.5)


def test_the_formulas_of_one_store_do_not_mix(searched, memory, asked):
    store, made = memory.store(), []
    for settings in ({}, {"formula": "okapi"}, {"copies": 2}, {"formula": "okapi", "copies": 2}, {}):
        steps = [{"step": "seed_lexical", **settings}, *END]
        made.append(searched(steps, store, asked("apple pie")).retrievals["lexical"].to_pylist())
    assert made[0] == made[4]
    assert len({tuple(scores) for scores in made}) == 4
