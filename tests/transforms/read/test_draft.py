from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.read.common.draft import Draft, Letters


def test_what_cannot_be_stored_is_a_letter_of_the_place_where_it_stands():
    letters = Letters("file", 7)
    assert letters.is_object({}, "x")
    assert letters.is_text("x", "x")
    assert not letters.is_object([], "a turn")
    assert [letters.is_text(value, "a turn") for value in (None, " ", 1)] == [False] * 3
    letters.check_time(None, "a turn")
    letters.check_time("2024-01-01", "a turn")
    letters.check_time("soon", "a turn", "question")
    assert letters.letters == [
        DeadLetter("malformed_record", "a turn is list, an object is expected", "file", 7),
        DeadLetter("null_text", "text of a turn is null or absent", "file", 7, outcome="skipped"),
        DeadLetter("empty_text", "text of a turn is empty or blank", "file", 7, outcome="skipped"),
        DeadLetter("malformed_record", "text of a turn is int, a string is expected", "file", 7),
        DeadLetter("broken_date", "time='soon' of a turn is no date that can be read", "file", 7, "question", "kept"),
    ]


def test_a_draft_with_turns_is_a_conversation_after_its_letters():
    draft = Draft("file", 2, format_name="toy", name="c")
    draft.report("odd", "something odd")
    for _ in range(2):
        draft.columns.add("hi", speaker="Ana", role="user", turn_id="t")
    *letters, made = draft.items(draft.finish())
    assert [(letter.reason, letter.position) for letter in letters] == [("odd", 2), ("duplicate_turn", 2)]
    assert (made.conversation_id, made.format, made.text, made.turn_id) == ("c", "toy", ["hi"], ["t"])


def test_a_draft_without_turns_is_a_letter_alone():
    draft = Draft("file", 2, format_name="toy", name="c")
    error = "conversation 'c' has no turn to store"
    assert list(draft.items(draft.finish())) == [
        DeadLetter("empty_conversation", error, "file", 2, "conversation", "skipped")
    ]
