"""What a unit shows, where the plain reader of test_contexts_plain would not tell at a glance."""

import pytest

from memlake.transforms.base.errors import UsageError

FULL = [{"step": "seed_time"}, {"step": "rank"}]
TALK = [("8 May", [("Ann", "one two three"), ("Bo", "four five")]), ("9 May", [("Ann", "six")])]


def texts(found):
    return found.contexts["text"].to_pylist()


@pytest.fixture
def memory(memory_of):
    return memory_of(TALK)


def test_a_header_can_be_left_out_and_then_costs_nothing(memory, asked, searched):
    memory.slice("a", 5, 18)
    for header, text, cost in ((True, "[day] one two three", 5), (False, "one two three", 4)):
        found = searched([*FULL, {"step": "show", "header": header}, {"step": "pack"}], memory.store(), asked("?"))
        assert (texts(found), found.contexts["tokens"].to_pylist()) == ([text], [cost])
        assert ("day" in found.contexts["content_tokens"][0].as_py()) == header


def test_key_and_quote_stand_behind_the_header_and_without_a_quote_the_text_itself(memory, asked, searched):
    lead = {"header_chars": 4}
    memory.note("a", "[d] told", [2], key_text="[d] told 'six'", attributes='{"quote": "six"}', **lead)
    memory.note("b", "[d] bare", [1], key_text="bare key", attributes='{"quote": ""}', **lead)
    memory.note("c", "[d] none", [0], key_text="[d] none", **lead)
    shown = {
        (text, header): texts(
            searched(
                [*FULL, {"step": "show", "text": text, "header": header}, {"step": "pack"}], memory.store(), asked("?")
            )
        )[0].split("\n")
        for text in ("key", "quote")
        for header in (True, False)
    }
    assert shown["key", True] == ["[d] told 'six'", "bare key", "[d] none"]
    assert shown["key", False] == ["told 'six'", "bare key", "none"]
    assert shown["quote", True] == ["[d] six", "[d] bare", "[d] none"]
    assert shown["quote", False] == ["six", "bare", "none"]


def test_overlap_is_shown_once_and_only_what_is_shown_is_paid(memory, asked, searched, ranks):
    memory.slice("b", 0, 12)
    memory.slice("a", 5, 18)
    memory.slice("c", 8, 18)
    plan = [*FULL, {"step": "merge"}, {"step": "pack"}]
    found = searched(plan, memory.store(), asked("?"), tokens=(4, 500), k=(1, 2))
    assert ranks(found) == ["c", "a", "b"]
    # Of `a` only what stands before `c` is new; of `b` only the speaker.
    assert texts(found)[1] == "[day] two three"[:6] + memory.text[8:18].strip() + "\n[day] one\n[day] Ann:"
    assert found.contexts["units"].to_pylist() == [1, 3, 1, 2]
    assert found.contexts["tokens"].to_pylist()[0] == 4


def test_a_unit_that_brings_nothing_new_is_in_the_context_and_adds_no_line(memory, asked, searched):
    memory.slice("a", 5, 18)
    memory.slice("b", 5, 9)
    found = searched([*FULL, {"step": "merge"}, {"step": "pack"}], memory.store(), asked("?"), tokens=(500,), k=(1,))
    assert texts(found) == ["[day] one two three"] * 2
    assert found.contexts["units"].to_pylist() == [2, 1]


def test_neighbours_in_time_stand_behind_one_header_but_sessions_stay_apart(memory, asked, searched):
    for turn in memory.turns.to_pylist():
        name, label = f"u{turn['ordinal']}", turn["session_label"]
        end = turn["char_start"] + len(turn["speaker"]) + 2 + len(turn["text"])
        memory.slice(name, turn["char_start"], end, lead=f"[{label}] ")
    for step, text in (
        ({"step": "merge"}, "[8 May] Ann: one two three\nBo: four five\n[9 May] Ann: six"),
        ({"step": "show"}, "[8 May] Ann: one two three\n[8 May] Bo: four five\n[9 May] Ann: six"),
    ):
        found = searched([*FULL, step, {"step": "pack", "order": "time"}], memory.store(), asked("?"))
        assert texts(found) == [text]
        # The same units at the same price: what is joined is only laid out otherwise.
        assert found.contexts["tokens"].to_pylist() == [7 + 6 + 5]


def test_text_that_no_unit_holds_keeps_slices_apart(memory, asked, searched):
    memory.slice("a", 0, 8)
    memory.slice("b", 9, 12)
    memory.slice("c", 13, 18)
    plan = [*FULL, {"step": "merge"}, {"step": "pack", "order": "time"}]
    assert texts(searched(plan, memory.store(), asked("?"))) == ["[day] Ann: one two three"]
    del memory.units[1]
    assert texts(searched(plan, memory.store(), asked("?"))) == ["[day] Ann: one\n[day] three"]


def test_a_note_stands_where_its_first_turn_does_among_merged_slices(memory, asked, searched):
    memory.slice("a", 5, 18)
    memory.slice("c", 34, 42)
    memory.note("b", "of the second turn", [1])
    plan = [*FULL, {"step": "merge"}, {"step": "pack", "order": "time"}]
    expected = "[day] one two three\nof the second turn\n[day] nn: six"
    assert texts(searched(plan, memory.store(), asked("?"))) == [expected]


@pytest.mark.parametrize("order", ["score", "random", "time"])
def test_what_a_better_unit_showed_of_the_middle_leaves_two_pieces_in_their_order(memory, asked, searched, order):
    memory.slice("b", 0, 18)
    memory.slice("a", 9, 12, key_text="two two")
    plan = [{"step": "seed_lexical"}, {"step": "rank"}, {"step": "merge"}, {"step": "pack", "order": order}]
    found = searched(plan, memory.store(), asked("two"), k=(1, 2))
    first, both = texts(found)
    assert first == "[day] two"
    if order == "time":
        assert both == "[day] Ann: one two three"
    else:
        rest = "[day] Ann: one\n[day] three"
        assert both in {f"{first}\n{rest}", f"{rest}\n{first}"}
    assert found.contexts["tokens"].to_pylist() == [3, 3 + 4 + 3]


def test_units_that_begin_together_stand_by_their_id_in_time_order(memory, asked, searched):
    for name, end in (("c", 8), ("a", 18), ("b", 12)):
        memory.slice(name, 0, end, key_text="one " * end)
    plan = [{"step": "seed_random"}, {"step": "rank"}, {"step": "pack", "order": "time"}]
    found = searched(plan, memory.store(), asked(*"abcdef"), k=(3,))
    assert set(texts(found)) == {"[day] Ann: one two three\n[day] Ann: one two\n[day] Ann: one"}


def test_the_order_of_a_text_changes_no_unit_and_no_token(memory, asked, searched):
    for turn in memory.turns.to_pylist():
        memory.slice(f"u{turn['ordinal']}", turn["char_start"], turn["char_end"])
    made = {}
    for order in ("score", "time", "random"):
        plan = [{"step": "seed_lexical"}, {"step": "rank"}, {"step": "pack", "order": order, "seed": 3}]
        made[order] = searched(plan, memory.store(), asked("five", "six", "one"), tokens=(7, 12)).contexts
    for column in ("units", "tokens", "content_tokens"):
        assert made["score"][column] == made["time"][column] == made["random"][column]
    assert len({tuple(table["text"].to_pylist()) for table in made.values()}) == 3
    assert made["time"]["text"].to_pylist()[-1].split("\n")[0] == "[day] Ann: one two three"


def test_turns_behind_units_are_shown_as_turns_each_once(memory, asked, searched):
    memory.note("a", "of two turns", [0, 2])
    memory.note("b", "of the same", [2, 1, 0])
    memory.note("c", "of no turn", [])
    plan = [{"step": "seed_lexical"}, {"step": "rank"}, {"step": "project"}, {"step": "pack"}]
    found = searched(plan, memory.store(), asked("two"), k=(1, 3))
    assert texts(found) == [
        "[8 May] Ann: one two three\n[9 May] Ann: six",
        "[8 May] Ann: one two three\n[9 May] Ann: six\n[8 May] Bo: four five",
    ]
    assert found.contexts["tokens"].to_pylist() == [7 + 5, 7 + 5 + 6]
    in_time = searched([*plan[:3], {"step": "pack", "order": "time"}], memory.store(), asked("two"), k=(3,))
    assert texts(in_time) == ["[8 May] Ann: one two three\n[8 May] Bo: four five\n[9 May] Ann: six"]


@pytest.mark.parametrize(("step", "lacking"), [("merge", "turns"), ("project", "provenance")])
def test_what_is_not_read_cannot_be_shown(memory, asked, searched, step, lacking):
    memory.slice("a", 0, 5)
    plan = [{"step": "seed_random"}, {"step": "rank"}, {"step": step}, {"step": "pack"}]
    with pytest.raises(UsageError, match=f"needs {lacking}"):
        searched(plan, memory.store(**{lacking: None}), asked("?"))
