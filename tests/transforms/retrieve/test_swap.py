import pytest

TALK = [("8 May", [("Ann", f"word{n}") for n in range(5)])]
PLAN = [{"step": "seed_lexical"}, {"step": "rank"}]


def swapped(seed=0):
    return [*PLAN, {"step": "swap", "seed": seed}, {"step": "pack"}]


@pytest.fixture
def store(memory_of):
    memory = memory_of(TALK)
    for turn in memory.turns.to_pylist():
        memory.slice(f"u{turn['ordinal']}", turn["char_start"], turn["char_end"])
    return memory.store()


@pytest.mark.parametrize("seed", range(5))
def test_each_question_is_shown_another_one_s_context_and_each_context_once(store, asked, searched, ranks, seed):
    questions = asked(*(f"word{n}" for n in range(5)))
    found = searched(swapped(seed), store, questions, k=(1,))
    whose = [ranks(found, f"q{n}")[0] for n in range(5)]
    assert sorted(whose) == [f"u{n}" for n in range(5)]
    assert all(name != f"u{n}" for n, name in enumerate(whose))
    assert found.contexts["question_id"].to_pylist() == [f"q{n}" for n in range(5)]


def test_the_row_is_the_question_s_and_the_rest_is_that_of_its_partner(store, asked, searched):
    questions = asked("word3", "word1")
    plain, other = (searched(plan, store, questions) for plan in ([*PLAN, {"step": "pack"}], swapped()))
    for table in ("retrievals", "contexts"):
        rows = {name: getattr(found, table).to_pylist() for name, found in (("plain", plain), ("other", other))}
        turned = [row | {"question_id": {"q0": "q1", "q1": "q0"}[row["question_id"]]} for row in rows["other"]]
        assert sorted(map(repr, turned)) == sorted(map(repr, rows["plain"]))


def test_the_order_of_the_questions_and_their_blocks_change_nothing(store, asked, searched, ranks, monkeypatch):
    questions = asked(*(f"word{n}" for n in range(5)))
    whole = searched(swapped(), store, questions)
    monkeypatch.setattr("memlake.transforms.retrieve.cell._BLOCK", 10)
    blocks = searched(swapped(), store, questions.take([3, 1, 4, 0, 2]))
    assert all(ranks(whole, f"q{n}") == ranks(blocks, f"q{n}") for n in range(5))


def test_a_question_that_stands_alone_is_shown_nothing(store, asked, searched):
    found = searched(swapped(), store, asked("word1"), tokens=(500,))
    assert found.retrievals.num_rows == 0
    assert found.contexts["text"].to_pylist() == ["", ""]
