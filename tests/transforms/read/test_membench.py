import json
from collections import Counter

from memlake.transforms.read.catalogue import FORMATS, detect

ASKED = {
    "question": "Where does Ana's brother work?",
    "answer": "At the harbour",
    "choices": {"A": "At a school", "B": "At the harbour", "C": "At home", "D": "In a mine"},
    "ground_truth": "B",
    "time": "2024-10-03 09:00",
}
THIRD = {
    "tid": 0,
    "message_list": [
        {"mid": 0, "message": "Ana has a brother.", "time": "2024-10-01 08:00", "place": "Porto"},
        {"mid": 1, "message": "He works at the harbour.", "time": "2024-10-02 08:10", "place": "Porto"},
    ],
    "QA": ASKED | {"qid": 4, "target_step_id": [1, 0]},
}
FIRST = {
    "tid": 1,
    "message_list": [
        [{"sid": 0, "user_message": "I am Ana.", "assistant_message": "Hello, Ana.", "time": "2024-10-01 08:00"}],
        [
            {"sid": 0, "user": "My brother works.", "agent": "Where?", "time": "2024-10-02 09:00"},
            {"sid": 1, "user": "At the harbour.", "agent": "I see.", "time": "2024-10-02 09:01"},
        ],
    ],
    "QA": ASKED | {"target_step_id": [[1, 1]]},
}


def in_tasks(*rows: object) -> bytes:
    return json.dumps({"simple": {"roles": list(rows)}}).encode()


def test_records_at_any_depth_are_known_by_their_structure():
    for value in ({"simple": {"roles": [THIRD]}}, {"roles": [FIRST]}, [THIRD]):
        for indent in (None, 2):
            assert detect(json.dumps(value, indent=indent).encode()) is FORMATS["membench"]
    long = {"simple": {"roles": [{"tid": 0, "message_list": ["word " * 20] * 2000, "QA": ASKED}]}}
    assert detect(json.dumps(long).encode()[:65536]) is FORMATS["membench"]


def test_told_messages_have_a_session_a_day(read, write):
    (made,), letters = read(write(in_tasks(THIRD), "ThirdAgent.json"))
    assert letters == []
    assert made.conversation_id == "ThirdAgent-simple-roles-0"
    assert [(s.session_id, s.label) for s in made.sessions] == [
        ("2024-10-01", "2024-10-01"),
        ("2024-10-02", "2024-10-02"),
    ]
    assert (made.turn_id, made.role) == (["0", "1"], ["user", "user"])
    (question,) = made.questions
    assert (question.question_id, question.category) == ("ThirdAgent-simple-roles-0:4", "simple")
    assert question.evidence == [("1", "1", "valid"), ("0", "0", "valid")]
    assert question.attributes == {"right_option": 1, "place": "Porto", "subcategory": "roles"}
    assert (question.options[1], question.answer) == ("At the harbour", "At the harbour")


def test_said_exchanges_have_the_sources_sessions_and_both_halves_are_gold(read, write):
    (made,), letters = read(write(in_tasks(FIRST), "FirstAgent.json"))
    assert letters == []
    assert [s.session_id for s in made.sessions] == ["s0", "s1"]
    assert made.turn_id == ["0:0:user", "0:0:assistant", "1:0:user", "1:0:assistant", "1:1:user", "1:1:assistant"]
    assert made.role == ["user", "assistant"] * 3
    assert made.questions[0].evidence == [("[1, 1]", "1:1:user", "valid"), ("[1, 1]", "1:1:assistant", "valid")]


def test_one_key_above_the_records_leaves_the_files_name_as_task(read, write):
    (made,), _ = read(write(json.dumps({"events": [THIRD]}).encode(), "noisy.json"))
    assert (made.conversation_id, made.questions[0].category) == ("noisy-events-0", "noisy")
    assert made.questions[0].attributes["subcategory"] == "events"


def test_bare_texts_are_messages_by_their_places(read, write):
    (made,), _ = read(
        write(in_tasks({"tid": 0, "message_list": ["One.", "Two."], "QA": ASKED | {"target_step_id": 1}}))
    )
    assert (made.text, made.turn_id) == (["One.", "Two."], ["0", "1"])
    assert made.questions[0].evidence == [("1", "1", "valid")]


def test_hostile_rows_die_alone(read, write):
    messages = [
        {"mid": 0, "message": "ok", "time": "soon"},
        {"mid": 0, "message": "again"},
        None,
        {"mid": 2},
        {"mid": 3, "message": "half \ud83d"},
        [{"sid": 0, "user": "Hi.", "agent": None}, 5],
        [],
    ]
    asked = [
        ASKED | {"target_step_id": [0, 0, 9, None, [0, 0], [0, 0, 0], {"a": 1}], "answer": 2, "ground_truth": "E"},
        None,
        {"question": ""},
    ]
    rows = [{"tid": 0, "message_list": messages, "QA": asked}, {"tid": 1, "message_list": []}, 3, {"QA": ASKED}]
    raw = json.dumps({"simple": {"roles": rows, "odd": "text"}, "none": None}).encode()
    (made,), letters = read(write(raw, "x.json"), "membench")
    assert made.text == ["ok", "again", "half \ufffd", "Hi."]
    assert made.turn_id == ["0", "0~2", "3", "0:0:user"]
    (question,) = made.questions
    assert (question.answer, question.attributes) == ("2", {"subcategory": "roles"})
    assert [status for *_, status in question.evidence] == [
        "valid", "valid", "duplicate", "duplicate", "dangling", "malformed", "duplicate", "duplicate", "malformed",
        "malformed",
    ]  # fmt: skip
    assert Counter((x.reason, x.outcome) for x in letters) == {
        ("lone_surrogate", "kept"): 1,
        ("broken_date", "kept"): 1,
        ("repeated_turn_id", "kept"): 1,
        ("malformed_record", "dropped"): 7,
        ("null_text", "skipped"): 2,
        ("empty_text", "skipped"): 1,
        ("empty_conversation", "skipped"): 1,
        ("undated_session", "kept"): 1,
    }
