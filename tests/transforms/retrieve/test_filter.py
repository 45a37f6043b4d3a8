from datetime import UTC, datetime

import pytest

from memlake.transforms.base.errors import UsageError

END = [{"step": "rank"}, {"step": "pack"}]
TALK = [("8 May", [("Ann Lee", "one"), ("Bo", "two")]), (None, [("李", "three"), ("Bo", "four")])]


def plan(**settings):
    return [{"step": "seed_random"}, {"step": "filter", **settings}, *END]


@pytest.fixture
def memory(memory_of):
    memory = memory_of(TALK)
    for name, turn in zip("abcd", memory.turns.to_pylist(), strict=True):
        memory.slice(name, turn["char_start"], turn["char_end"], speaker=turn["speaker"])
    memory.note("both", "of Ann and Bo", [0, 1])
    memory.note("other", "of nobody", [], speaker="Eve", kind="fact")
    return memory


def test_only_units_of_the_kinds_are_candidates(memory, asked, searched, ranks):
    store = memory.store()
    assert set(ranks(searched(plan(kinds=["note"]), store, asked("?")))) == {"both"}
    assert set(ranks(searched(plan(kinds=["note", "fact"]), store, asked("?")))) == {"both", "other"}
    nothing = searched(plan(kinds=["none"]), store, asked("?"))
    assert (ranks(nothing), nothing.contexts["text"].to_pylist()) == ([], [""])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("What did Bo say?", {"b", "d", "both"}),
        ("what did ann lee's friend do", {"a", "both"}),
        ("What of Ann?", {"a", "b", "c", "d", "both", "other"}),
        ("Where is the Bob?", {"a", "b", "c", "d", "both", "other"}),
        ("Bo and Eve", {"b", "d", "both", "other"}),
        ("昨天李说什么", {"c"}),
    ],
)
def test_a_question_that_names_a_speaker_keeps_what_that_speaker_said(memory, asked, searched, ranks, text, kept):
    together = asked("something else of Bo", text)
    assert set(ranks(searched(plan(speaker="named"), memory.store(), together), "q1")) == kept


def test_units_of_after_the_question_are_left_out_and_those_of_no_date_stay(memory_of, asked, searched, ranks):
    def day(number):
        return datetime(2024, 5, number, tzinfo=UTC)

    memory = memory_of(TALK)
    said = [day(1), None, None, day(9)]
    session = [day(1), day(5), None, None]
    for name, dates in (("said_at", said), ("session_at", session)):
        place = memory.turns.schema.get_field_index(name)
        column = memory.turns.schema.field(place)
        memory.turns = memory.turns.set_column(place, column, [memory.turns.schema.field(place).type and dates])
    for name, turns in (("early", [0]), ("session", [1]), ("undated", [2]), ("late", [3]), ("spanning", [0, 3])):
        memory.note(name, name, turns)
    memory.note("event", "told later", [2], event_at=day(7))
    memory.note("planned", "for the 9th, told on the 1st", [0], event_at=day(9))
    kept = {}
    for number in (1, 5, 8, 9):
        found = searched(plan(time="until_asked"), memory.store(), asked("?", asked_at=day(number)))
        kept[number] = set(ranks(found))
    assert kept[1] == {"early", "undated", "planned"}
    assert kept[5] == kept[1] | {"session"}
    assert kept[8] == kept[5] | {"event"}
    assert kept[9] == kept[8] | {"late", "spanning"}
    assert set(ranks(searched(plan(time="until_asked"), memory.store(), asked("?")))) == kept[9]


def test_all_settings_hold_together(memory, asked, searched, ranks):
    found = searched(plan(kinds=["chunk"], speaker="named"), memory.store(), asked("of Bo"))
    assert set(ranks(found)) == {"b", "d"}
    assert found.contexts["store_share"].to_pylist() == [2 / 6]


def test_kinds_need_no_more_than_units_and_speakers_need_the_turns(memory, asked, searched):
    bare = memory.store(provenance=None, turns=None)
    assert searched(plan(kinds=["note"]), bare, asked("?")).retrievals.num_rows == 1
    with pytest.raises(UsageError, match="needs turns"):
        searched(plan(speaker="named"), bare, asked("Bo"))
