"""Seeds that read no words: chance, gold turns, time; and the built-in plans that are made of them."""

import numpy as np
import pytest

from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import content_id
from memlake.transforms.retrieve.plan import PLANS
from memlake.transforms.retrieve.store.chance import LEVELS, chance

TALK = [("8 May", [("Ann", "one"), ("Bo", "two")]), ("9 May", [("Ann", "three"), ("Bo", "four")])]


@pytest.fixture
def memory(memory_of):
    """A slice a turn, named against the order of time, and two notes: of turns 1 and 3, and of no turn."""
    memory = memory_of(TALK)
    for name, turn in zip("dcba", memory.turns.to_pylist(), strict=True):
        memory.slice(name, turn["char_start"], turn["char_end"])
    memory.note("note", "of two and four", [1, 3])
    memory.note("stray", "of nothing", [])
    return memory


def test_chance_is_of_a_question_and_a_unit_and_of_nothing_beside_them(memory, asked):
    store, questions = memory.store(), asked("?", "!", "?")
    whole = chance(questions, store, 0)
    assert whole.shape == (3, 6)
    assert whole.min() >= 1
    assert whole.max() <= LEVELS
    for place in range(3):
        assert (chance(questions.slice(place, 1), store, 0) == whole[place]).all()
    # The id tells equal texts apart, and the seed tells one draw from the next.
    assert (whole[0] != whole[2]).all()
    assert (chance(questions, store, 1) != whole).all()


def splitmix(number):
    """The finaliser of SplitMix64 on a Python number."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ number >> shift) * factor % 2**64
    return number ^ number >> 31


def test_chance_has_the_bits_of_plain_whole_numbers(memory, asked):
    store = memory.store()
    question = int(content_id(7, "q0", "?")[:16], 16)
    units = [int(content_id(name)[:16], 16) for name in store.units["unit_id"].to_pylist()]
    made = chance(asked("?"), store, 7)[0].tolist()
    assert made == [(splitmix(question ^ unit) >> 40) + 1 for unit in units]
    assert made[0] == 2204049


def test_every_unit_comes_first_about_equally_often(memory_of, asked, searched):
    memory = memory_of(TALK)
    for n in range(8):
        memory.slice(f"u{n}", n, n + 1)
    questions = asked(*(f"question {n}" for n in range(2000)))
    found = searched(PLANS["random"], memory.store(), questions)
    first = [row["unit_id"] for row in found.retrievals.to_pylist() if row["rank"] == 1]
    counts = np.unique(first, return_counts=True)[1]
    # 250 each; six standard deviations of a fair draw are 89.
    assert abs(counts - 250).max() < 89


def test_gold_lists_only_units_that_touch_a_gold_turn_earliest_first(memory, asked, gold, searched, ranks):
    questions = asked("a", "b", "c")
    evidence = gold(("q0", 3), ("q0", 0), ("q2", 1))
    found = searched(PLANS["gold"], memory.store(), questions, evidence=evidence)
    assert [ranks(found, f"q{n}") for n in range(3)] == [["d", "note", "a"], [], ["note", "c"]]
    assert found.reached.tolist() == [3 / 6, 0, 2 / 6]
    texts = found.contexts["text"].to_pylist()
    assert texts == ["[day] Ann: one\n\nof two and four\n[day] Bo: four", "", "of two and four\n[day] Bo: two\n"]


def test_gold_is_of_one_label_set_and_of_valid_rows_only(memory, asked, gold, searched, ranks):
    questions = asked("a")
    corrected = [{"step": "seed_gold", "label_set": "corrected"}, *PLANS["gold"][1:]]
    for more in ({"label_set": "corrected"}, {"status": "duplicate"}, {"status": "dangling", "ordinal": None}):
        assert ranks(searched(PLANS["gold"], memory.store(), questions, evidence=gold(("q0", 0), **more))) == []
    evidence = gold(("q0", 0), label_set="corrected", status="normalised")
    assert ranks(searched(corrected, memory.store(), questions, evidence=evidence)) == ["d"]


def test_a_unit_that_touches_only_the_prefix_of_a_gold_turn_is_not_gold(memory_of, asked, gold, searched, ranks):
    memory = memory_of(TALK)
    start = memory.turns["char_start"][1].as_py()
    memory.slice("prefix", start, start + 4)
    memory.slice("text", start, start + 6)
    assert ranks(searched(PLANS["gold"], memory.store(), asked("a"), evidence=gold(("q0", 1)))) == ["text"]


def test_without_evidence_or_provenance_gold_is_refused_with_what_reads_it(memory, asked, gold, searched):
    with pytest.raises(UsageError, match="a step of the plan needs evidence") as refused:
        searched(PLANS["gold"], memory.store(), asked("a"))
    assert "memlake study run" in refused.value.hint
    with pytest.raises(UsageError, match="needs provenance"):
        searched(PLANS["gold"], memory.store(provenance=None), asked("a"), evidence=gold(("q0", 1)))


def test_time_lists_the_latest_first_so_that_a_budget_keeps_the_end(memory, asked, searched, ranks):
    found = searched(PLANS["full"], memory.store(), asked("a"), tokens=(11,), k=())
    # The note begins with turn 1, before that turn's own code points, and what has no place comes last.
    assert ranks(found) == ["a", "b", "c", "note", "d", "stray"]
    assert found.contexts["text"].to_pylist() == ["[day] Ann: three\n\n[day] Bo: four"]
    assert found.contexts["tokens"].to_pylist() == [9]
    assert found.retrievals["score"].to_pylist() == sorted(found.retrievals["score"].to_pylist(), reverse=True)


def test_units_that_begin_together_tie_and_go_by_their_id(memory_of, asked, searched, ranks):
    memory = memory_of(TALK)
    for name, end in (("b", 9), ("c", 5), ("a", 7)):
        memory.slice(name, 0, end)
    found = searched(PLANS["full"], memory.store(), asked("a"))
    assert ranks(found) == ["a", "b", "c"]
    assert len(set(found.retrievals["score"].to_pylist())) == 1


def test_nothing_retrieves_nothing_and_shows_nothing(memory, asked, searched):
    found = searched(PLANS["nothing"], memory.store(), asked("a", "b"), tokens=(500,), k=(5,))
    assert found.retrievals.num_rows == 0
    assert found.contexts["text"].to_pylist() == [""] * 4
    assert found.contexts["units"].to_pylist() == found.contexts["tokens"].to_pylist() == [0] * 4
    assert found.contexts["content_tokens"].to_pylist() == [[]] * 4
