import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation, DeadLetter, Source
from memlake.transforms.read.catalogue import read_source
from memlake.transforms.read.gather import gather, partial_rows

HOSTILE = [
    "👨‍👩‍👧",
    "e\u0301",
    "\r\n",
    "\u00a0",
    "\x1f",
    "\u2028",
    '"',
    "\\",
    "\t",
    "\x0b",
    "日本",
    "ok",
    " ",
    "{0}",
    "\ufeff",
    "%;--",
]
TEXTS = st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=8).map("".join)
STORED = TEXTS.filter(lambda text: not text.isspace())


def whole(path: str) -> list[Conversation]:
    """Turn lines through the second job."""
    partials = [item for item in read_source(Source(path)) if isinstance(item, Conversation)]
    return [item for item in gather(partial_rows(partials)) if isinstance(item, Conversation)]


@settings(max_examples=60)
@given(st.lists(st.tuples(STORED, STORED), min_size=1, max_size=6), st.booleans())
def test_hostile_texts_survive_both_layouts(tmp_path_factory, pairs, ascii_only):
    folder = tmp_path_factory.mktemp("hostile")
    turns = [{"speaker": speaker, "text": text} for speaker, text in pairs]
    nested = folder / "conversations"
    nested.write_text(
        json.dumps({"conversation_id": "c", "turns": turns}, ensure_ascii=ascii_only) + "\n", "utf-8", newline=""
    )
    flat = folder / "turns"
    flat.write_text(
        "".join(json.dumps({"conversation_id": "c", **turn}, ensure_ascii=ascii_only) + "\n" for turn in turns),
        "utf-8",
        newline="",
    )
    for found in (list(read_source(Source(str(nested)))), whole(str(flat))):
        assert [(c.text, c.speaker) for c in found] == [([text for _, text in pairs], [name for name, _ in pairs])]
        assert found[0].turn_id == [str(place) for place in range(len(pairs))]


def test_fields_land_and_sessions_are_dated(read, write):
    turn = {"text": "Hello.", "session_id": "mon", "session_at": "2024-05-06 09:00", "turn_id": "t1", "role": "user"}
    later = {"text": "Bye.", "session_id": "tue", "session_at": "2024-05-07T09:00Z", "turn_id": 2, "speaker": "Ana"}
    (talk,), letters = read(write([{"conversation_id": 7, "turns": [turn, later]}]))
    assert letters == []
    assert (talk.conversation_id, talk.turn_id, talk.speaker) == ("7", ["t1", "2"], ["user", "Ana"])
    assert [(s.session_id, s.label, s.zone_known) for s in talk.sessions] == [
        ("mon", "2024-05-06T09:00", False),
        ("tue", "2024-05-07T09:00Z", True),
    ]
    assert (talk.role, talk.kind) == (["user", "participant"], ["message", "message"])


def test_bad_lines_are_reported_by_number_and_the_rest_lands(read, write):
    good = json.dumps({"conversation_id": "a", "turns": [{"text": "Hi."}]}).encode()
    other = good.replace(b'"a"', b'"b"')
    lines = [
        good,
        b'{"conversation_id": "x", "tur',
        b"[1]",
        b'{"turns": []}',
        b'{"conversation_id": "y"}',
        b"\xff",
        other,
    ]
    found, letters = read(write(b"\n".join(lines)))
    assert [talk.conversation_id for talk in found] == ["a", "b"]
    assert sorted((letter.position, letter.reason) for letter in letters) == [
        (2, "truncated_json"),
        (3, "malformed_record"),
        (4, "malformed_record"),
        (5, "malformed_record"),
        (6, "wrong_encoding"),
    ]
    assert {letter.outcome for letter in letters} == {"dropped"}


@pytest.mark.parametrize(
    ("text", "reason", "outcome"),
    [
        (None, "null_text", "skipped"),
        ("", "empty_text", "skipped"),
        (" \n\u2028", "empty_text", "skipped"),
        (5, "malformed_record", "dropped"),
        ({}, "malformed_record", "dropped"),
        (["a"], "malformed_record", "dropped"),
    ],
)
def test_a_text_that_cannot_be_stored_is_reported_and_its_neighbours_land(read, write, text, reason, outcome):
    talk = {"conversation_id": "c", "turns": [{"text": "one"}, {"text": text}, {"text": "two"}]}
    lines = [{"conversation_id": "c", **turn} for turn in talk["turns"]]
    for path, line in ((write([talk], "talk"), 1), (write(lines, "lines"), 2)):
        (found,), letters = read(path)
        assert found.text == ["one", "two"]
        assert [(x.reason, x.outcome, x.position, x.scope) for x in letters] == [(reason, outcome, line, "turn")]


@pytest.mark.parametrize("escape", ["\\ud83d", "\\uDE00", "\\uD83D x"])
def test_half_an_emoji_becomes_a_replacement_character_and_is_reported(read, write, escape):
    raw = b'{"conversation_id": "c", "turns": [{"text": "a' + escape.encode() + b'"}]}\n'
    (talk,), letters = read(write(raw))
    assert talk.text[0].startswith("a\ufffd")
    assert [(letter.reason, letter.outcome, letter.position) for letter in letters] == [("lone_surrogate", "kept", 1)]


def test_a_whole_escaped_emoji_is_no_surrogate_to_report(read, write):
    (talk,), letters = read(write(rb'{"conversation_id": "c", "turns": [{"text": "\ud83d\ude00"}]}'))
    assert (talk.text, letters) == (["😀"], [])


def test_a_repeated_turn_lands_once_and_a_repeated_id_is_renamed(read, write):
    turns = [{"turn_id": "t", "text": "a"}, {"turn_id": "t", "text": "a"}, {"turn_id": "t", "text": "b"}]
    (talk,), letters = read(write([{"conversation_id": "c", "turns": turns}]))
    assert (talk.turn_id, talk.text) == (["t", "t~2"], ["a", "b"])
    assert [(letter.reason, letter.outcome) for letter in letters] == [
        ("duplicate_turn", "skipped"),
        ("repeated_turn_id", "kept"),
    ]


def test_turns_are_in_order_of_time_only_where_every_one_has_a_time(read, write):
    timed = [{"text": "b", "said_at": "2024-01-02"}, {"text": "a", "said_at": "2024-01-01"}]
    found, letters = read(
        write([{"conversation_id": "x", "turns": timed}, {"conversation_id": "y", "turns": [*timed, {"text": "c"}]}])
    )
    assert [talk.text for talk in found] == [["a", "b"], ["b", "a", "c"]]
    assert letters == []
    assert found[0].sessions[0].label == "2024-01-01T00:00"


def test_sessions_that_alternate_are_brought_together(read, write):
    turns = [{"text": str(place), "session_id": name, "session_at": "2024-01-01"} for place, name in enumerate("abab")]
    (talk,), _ = read(write([{"conversation_id": "c", "turns": turns}]))
    assert (talk.text, talk.session) == (["0", "2", "1", "3"], [0, 0, 1, 1])


def test_undated_and_wrongly_dated_sessions_are_kept_and_reported(read, write):
    turns = [{"text": "a", "session_id": "s"}, {"text": "b", "session_id": "t", "session_at": "soon"}]
    (talk,), letters = read(write([{"conversation_id": "c", "turns": turns}]))
    assert [(session.label, session.at) for session in talk.sessions] == [(None, None), ("soon", None)]
    assert [(x.reason, x.scope, x.outcome) for x in letters] == [("undated_session", "session", "kept")] * 2


def test_a_broken_time_of_a_turn_is_null_and_reported(read, write):
    (talk,), letters = read(write([{"conversation_id": "c", "turns": [{"text": "a", "said_at": "noonish"}]}]))
    assert talk.said_at == [None]
    assert [(x.reason, x.outcome) for x in letters] == [("broken_date", "kept")]


def test_own_questions_and_units_land_with_their_turns(read, write):
    talk = {
        "conversation_id": "c",
        "turns": [{"text": "one", "turn_id": "t1"}, {"text": "two", "turn_id": "t2"}],
        "questions": [
            {
                "text": "Which?",
                "answer": 2,
                "answers": ["2", "two"],
                "evidence": ["t2", "t2", "t9", None],
                "category": 3,
            },
            {"question_id": "mine", "text": "Why?", "answerable": False, "asked_at": "2024-01-01"},
            {"text": None},
            "no question",
        ],
        "units": [
            {"representation": "notes", "text": "Two.", "turn_ids": ["t2", "t9"], "kind": "note"},
            {"representation": "../x", "text": "bad name"},
        ],
    }
    (found,), letters = read(write([talk]))
    first, second = found.questions
    assert (first.question_id, first.answer, first.answers, first.category) == ("c:q0", "2", ["2", "two"], "3")
    assert first.evidence == [
        ("t2", "t2", "valid"), ("t2", "t2", "duplicate"), ("t9", None, "dangling"), ("", None, "malformed"),
    ]  # fmt: skip
    assert (second.question_id, second.answer, second.answerable) == ("c:mine", None, False)
    assert [(unit.representation, unit.turn_ids, unit.session) for unit in found.supplied] == [("notes", ["t2"], 0)]
    assert sorted(letter.reason for letter in letters) == [
        "dangling_turn",
        "malformed_record",
        "malformed_record",
        "null_text",
    ]


def asked(name: str, *questions: dict[str, object]) -> dict[str, object]:
    filled = [{"text": "Which?", **question} for question in questions]
    return {"conversation_id": name, "turns": [{"text": "one", "turn_id": "t1"}], "questions": filled}


def test_equal_question_ids_of_two_conversations_are_two_questions(read, write):
    found, letters = read(write([asked("a", {}, {"question_id": "q0"}), asked("b", {"question_id": "q0"}, {})]))
    questions = [question for talk in found for question in talk.questions]
    # The first question has no id of its own, and the second one's looks like its place.
    assert [question.question_id for question in questions] == ["a:q0~2", "a:q0", "b:q0", "b:q1"]
    assert [question.attributes for question in questions] == [{}, {"source_id": "q0"}, {"source_id": "q0"}, {}]
    assert letters == []


IDS = st.text(st.sampled_from(":%3Aq1~2"), min_size=1, max_size=4)


@settings(max_examples=100)
@example({"a": ["b:c"], "a:b": ["c"], "a:": ["b%3Ac", "b:c"]})
@given(st.dictionaries(IDS, st.lists(st.none() | IDS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_no_two_questions_of_a_corpus_share_an_id(tmp_path_factory, talks):
    path = tmp_path_factory.mktemp("ids") / "file"
    lines = [asked(name, *({"question_id": given} for given in ids)) for name, ids in talks.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = [item for item in read_source(Source(str(path))) if isinstance(item, Conversation)]
    questions = [question for talk in found for question in talk.questions]
    assert len({question.question_id for question in questions}) == sum(map(len, talks.values())) == len(questions)
    assert [question.attributes.get("source_id") for question in questions] == [
        given for ids in talks.values() for given in ids
    ]


@pytest.mark.parametrize(
    "odd",
    [
        *({"label_set": value} for value in ("", "two words", "../up", "a__b", 5, True, ["official"], {})),
        *({"answerable": value} for value in ("false", "", "no", 0, 1, [], {})),
    ],
)
def test_a_question_whose_labels_cannot_be_told_is_dropped_and_reported(read, write, odd):
    (talk,), letters = read(write([asked("c", odd, {"label_set": None, "answerable": None})]))
    (question,) = talk.questions
    assert (question.question_id, question.label_set, question.answerable) == ("c:q1", "official", True)
    assert [(x.reason, x.outcome, x.scope, x.position) for x in letters] == [
        ("malformed_question", "dropped", "question", 1)
    ]


def test_one_id_under_two_label_sets_is_one_question_with_one_text(read, write):
    same, other = {"question_id": "q", "label_set": "mine"}, {"question_id": "q", "label_set": "yours", "text": "Why?"}
    (talk,), letters = read(write([asked("c", {"question_id": "q"}, same, other, {"question_id": "r"})]))
    assert [(q.question_id, q.label_set) for q in talk.questions] == [
        ("c:q", "official"),
        ("c:q", "mine"),
        ("c:r", "official"),
    ]
    assert [(x.reason, x.outcome, x.scope, x.position) for x in letters] == [
        ("conflicting_question", "dropped", "question", 1)
    ]


@settings(max_examples=150)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(
        ["text", "turn_id", "session_id", "session_at", "said_at", "role", "kind", "speaker", "questions", "units",
         "evidence", "answer", "turn_ids", "representation", "content", "messages", "tool_calls", "name", "type"]
    ), inner, max_size=5),
    max_leaves=25,
))  # fmt: skip
def test_no_json_makes_a_reader_raise_or_write_none(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("odd") / "file"
    record = value if isinstance(value, dict) else {"turns": value, "messages": value}
    path.write_text(json.dumps({**record, "conversation_id": "c", "turns": record.get("turns", [value])}))
    for name in ("memlake-conversations", "memlake-turns", "openai-chat", "locomo", "longmemeval"):
        for item in read_source(Source(str(path)), name):
            assert isinstance(item, Conversation | DeadLetter)
            if isinstance(item, Conversation):
                assert "None" not in item.text or "None" in json.dumps(value)
                assert all(text and not text.isspace() for text in item.text)
                partial_rows([item])
