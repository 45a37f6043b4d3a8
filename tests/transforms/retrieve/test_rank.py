import pytest

TALK = [("8 May", [("Ann", "apple pear plum"), ("Bo", "apple pear"), ("Ann", "apple"), ("Bo", "fig")])]


@pytest.fixture
def store(memory_of):
    memory = memory_of(TALK)
    for name, turn in zip("abcd", memory.turns.to_pylist(), strict=True):
        memory.slice(name, turn["char_start"], turn["char_end"])
    return memory.store()


def plan(**settings):
    return [{"step": "seed_lexical"}, {"step": "rank", **settings}, {"step": "pack"}]


def test_every_unit_is_a_candidate_unless_the_step_says_otherwise(store, asked, searched, ranks):
    found = searched(plan(), store, asked("plum pear"))
    assert ranks(found) == ["a", "b", "c", "d"]
    assert found.contexts["store_share"].to_pylist() == [1.0]


def test_only_the_best_so_many_are_candidates(store, asked, searched, ranks):
    found = searched(plan(candidates=2), store, asked("plum pear", "fig"), tokens=(500,), k=(1, 3))
    assert (ranks(found), ranks(found, "q1")) == (["a", "b"], ["d", "a"])
    assert found.contexts["units"].to_pylist() == [2, 2, 1, 1, 2, 2]
    assert found.contexts["store_share"].to_pylist() == [0.5] * 6


def test_what_does_not_score_above_the_bound_is_no_candidate(store, asked, searched, ranks):
    found = searched(plan(above=0), store, asked("plum pear", "zebra", "fig"))
    assert [ranks(found, f"q{n}") for n in range(3)] == [["a", "b"], [], ["d"]]
    assert found.contexts["units"].to_pylist() == [2, 0, 1]
    bound = found.retrievals["score"][1].as_py()
    # The bound itself is not above it.
    assert ranks(searched(plan(above=bound), store, asked("plum pear"))) == ["a"]
