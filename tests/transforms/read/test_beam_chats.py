import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.read.catalogue import FORMATS, detect
from memlake.transforms.read.formats.beam_chats.chats import _without_tag


def message(number: object, content: object, role: str = "user", **more: object) -> dict[str, object]:
    return {"role": role, "id": number, "content": content, **more}


CHAT = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [message(0, "I bake bread. ->-> 1,1", time_anchor="March-15-2024"), message(1, "Good.", "assistant")],
            [message(2, "My oven takes 40 minutes. ->-> 1,2"), message(3, "Noted. ->-> 1,2", "assistant")],
        ],
    },
    {"batch_number": 2, "time_anchor": "April-02-2024", "turns": [[message(4, "Now it takes 30 ->-> 2,N/A)")]]},
]
QUESTIONS = {
    "abstention": [{"question": "Which flour?", "ideal_response": "It is not said.", "rubric": ["says so"]}],
    "knowledge_update": [
        {
            "question": "How long?",
            "answer": 30,
            "rubric": ["30 minutes"],
            "difficulty": "easy",
            "source_chat_ids": {"original_info": [2], "updated_info": [4]},
        }
    ],
    "event_ordering": [
        {"question": "In which order?", "answer": "a, b", "rubric": [], "source_chat_ids": [0, 2, 2, [3, 4], 99, None]}
    ],
    "preference_following": [{"question": "A recipe?", "rubric": ["short"], "source_chat_ids": [0]}],
}
TOPIC = {"id": 1, "category": "Food", "title": "Bread", "theme": "baking", "subtopics": []}


@pytest.fixture
def folder(tmp_path: Path):
    """Write a chat's folder of a split; return the path of its chat.json."""

    def call(
        chat: object = CHAT, questions: object = QUESTIONS, name: str = "100K/7", side: str = "probing_questions.json"
    ):
        inside = tmp_path / name
        (inside / side).parent.mkdir(parents=True, exist_ok=True)
        (inside / "chat.json").write_text(json.dumps(chat))
        (inside / "topic.json").write_text(json.dumps(TOPIC))
        if questions is not None:
            (inside / side).write_text(json.dumps(questions))
        return str(inside / "chat.json")

    return call


def test_the_three_files_of_a_chat_are_known_by_their_structure():
    for value in (CHAT, QUESTIONS, TOPIC):
        for indent in (None, 4):
            assert detect(json.dumps(value, indent=indent).encode()) is FORMATS["beam-chats"]
    assert detect(json.dumps(CHAT).encode()[:200]) is FORMATS["beam-chats"]


def test_batches_are_dated_sessions_and_messages_keep_their_ids(read, folder):
    (made,), _ = read(folder())
    assert made.conversation_id == "100K-7"
    assert made.turn_id == ["0", "1", "2", "3", "4"]
    assert made.role == ["user", "assistant", "user", "assistant", "user"]
    assert [(s.session_id, s.label, s.zone_known) for s in made.sessions] == [
        ("s0", "March-15-2024", False),
        ("s1", "April-02-2024", False),
    ]
    assert made.sessions[0].at == 1_710_460_800 * 1_000_000


def test_generator_tags_are_cut_off_the_end_and_recorded_once_a_conversation(read, folder):
    (made,), letters = read(folder())
    assert made.text == ["I bake bread.", "Good.", "My oven takes 40 minutes.", "Noted.", "Now it takes 30"]
    assert made.source_chars == list(map(len, made.text))
    (letter,) = letters
    assert (letter.reason, letter.outcome) == ("generator_tag", "kept")
    cut = json.loads(letter.payload)
    assert cut == {"0": " ->-> 1,1", "2": " ->-> 1,2", "3": " ->-> 1,2", "4": " ->-> 2,N/A)"}
    assert made.text[0] + cut["0"] == "I bake bread. ->-> 1,1"


@pytest.mark.parametrize("text", ["a ->-> b", "->-> 1,1 and then", "x -> 1,1", "x 1,1", "x ->-> 1", "", "->"])
def test_what_only_looks_like_a_tag_stays(text):
    assert _without_tag(text) == (text, "")


@given(st.text(), st.integers(0, 99), st.integers(0, 99), st.sampled_from(["", " ", "\n", ")"]))
def test_a_cut_text_is_a_leading_part_of_the_message(text, batch, bullet, end):
    content = f"{text} ->-> {batch},{bullet}{end}"
    kept, cut = _without_tag(content)
    assert kept + cut == content
    assert "->->" in cut
    assert kept == kept.rstrip()


def test_a_message_that_is_nothing_but_a_tag_is_skipped(read, folder):
    (made,), letters = read(
        folder([{"batch_number": 1, "turns": [[message(0, " ->-> 1,1"), message(1, "Hi.")]]}], None)
    )
    assert made.turn_id == ["1"]
    assert ("empty_text", "skipped") in [(x.reason, x.outcome) for x in letters]


def test_answers_are_found_under_the_key_of_their_ability(read, folder):
    (made,), _ = read(folder())
    assert [(q.question_id, q.category, q.answer, q.answers, q.answerable) for q in made.questions] == [
        ("100K-7:abstention-0", "abstention", "It is not said.", ["It is not said."], False),
        ("100K-7:knowledge_update-0", "knowledge_update", "30", ["30"], True),
        ("100K-7:event_ordering-0", "event_ordering", "a, b", ["a, b"], True),
        ("100K-7:preference_following-0", "preference_following", None, [], True),
    ]
    assert [q.position for q in made.questions] == [0, 1, 2, 3]


def test_rubrics_and_roles_of_evidence_are_attributes(read, folder):
    (made,), _ = read(folder())
    update = made.questions[1]
    assert update.attributes == {
        "rubric": ["30 minutes"],
        "difficulty": "easy",
        "evidence_roles": {"2": "original_info", "4": "updated_info"},
    }
    assert update.evidence == [("2", "2", "valid"), ("4", "4", "valid")]
    assert "evidence_roles" not in made.questions[2].attributes


def test_a_turn_of_two_roles_has_both(read, folder):
    row = {"question": "?", "rubric": [], "source_chat_ids": {"first_statement": [2], "second_statement": [2]}}
    (made,), _ = read(folder(questions={"contradiction_resolution": [row]}))
    assert made.questions[0].attributes["evidence_roles"] == {"2": "first_statement,second_statement"}
    assert made.questions[0].evidence == [("2", "2", "valid"), ("2", "2", "duplicate")]


def test_evidence_ids_are_repaired_by_rule_and_never_guessed(read, folder):
    (made,), _ = read(folder())
    assert made.questions[2].evidence == [
        ("0", "0", "valid"),
        ("2", "2", "valid"),
        ("2", "2", "duplicate"),
        ("[3, 4]", "3", "normalised"),
        ("[3, 4]", "4", "normalised"),
        ("99", None, "dangling"),
        ("null", None, "malformed"),
    ]


def test_questions_may_stand_in_a_folder_of_their_own(read, folder):
    (made,), _ = read(folder(side="probing_questions/probing_questions.json"))
    assert len(made.questions) == 4


def test_chats_of_two_splits_and_cut_versions_have_names_of_their_own(read, folder):
    other = Path(folder(name="1M/7")).with_name("chat_cut.json")
    other.write_text(json.dumps(CHAT))
    paths = [folder(), folder(name="1M/7"), str(other)]
    assert [read(path)[0][0].conversation_id for path in paths] == ["100K-7", "1M-7", "1M-7-chat_cut"]


def test_files_beside_a_chat_are_skipped_and_lost_only_without_it(read, folder):
    path = Path(folder())
    for name in ("probing_questions.json", "topic.json"):
        made, (letter,) = read(str(path.with_name(name)))
        assert (made, letter.reason, letter.outcome, letter.scope) == ([], "side_file", "skipped", "file")
    path.unlink()
    _, (letter,) = read(str(path.with_name("probing_questions.json")))
    assert (letter.reason, letter.outcome) == ("side_file", "dropped")
    assert "put chat.json beside them" in letter.error


def test_a_chat_without_questions_lands_and_says_so(read, folder):
    (made,), letters = read(folder(questions=None))
    assert (len(made.text), made.questions) == (5, [])
    assert ("questions_missing", "kept") in [(x.reason, x.outcome) for x in letters]


def test_hostile_messages_die_alone(read, folder):
    turns = [
        ["no object", None],
        message(5, "Not in a group."),
        [message(6, None), message(7, ["a"]), message(8, "half \ud83d"), message(True, "No id."), message(8, "Again.")],
        [{"id": 9, "content": "No role."}],
    ]
    chat = [None, {"batch_number": 1}, {"batch_number": 2, "turns": turns, "time_anchor": ["x"]}]
    (made,), letters = read(folder(chat, None), "beam-chats")
    assert made.text == ["Not in a group.", "half \ufffd", "No id.", "Again.", "No role."]
    assert made.turn_id == ["5", "8", "2", "8~2", "9"]
    assert sorted((x.reason, x.outcome) for x in letters) == [
        ("lone_surrogate", "kept"),
        *[("malformed_record", "dropped")] * 5,
        ("null_text", "skipped"),
        ("questions_missing", "kept"),
        ("repeated_turn_id", "kept"),
        ("undated_session", "kept"),
    ]


def test_hostile_questions_die_alone(read, folder):
    rows = [None, {"question": 3}, {"question": " "}, {"question": "ok?", "answer": ["a", 1], "source_chat_ids": "0"}]
    (made,), letters = read(folder(questions={"summarization": rows, "odd": "text", "none": []}))
    (question,) = made.questions
    assert (question.question_id, question.answer, question.evidence) == (
        "100K-7:summarization-3", "a, 1", [("0", "0", "valid")],
    )  # fmt: skip
    assert sorted(x.reason for x in letters) == ["empty_text", "generator_tag", *["malformed_record"] * 3]
    assert {x.scope for x in letters if x.reason == "malformed_record"} == {"question"}


@pytest.mark.parametrize(
    ("raw", "reasons"),
    [
        ("[]", ["empty_conversation"]),
        ('"text"', ["malformed_record"]),
        ('[{"batch_number": 1, "turns": []}]', ["empty_conversation"]),
        ('[{"batch_number": 1, "turns": [', ["truncated_json"]),
    ],
)
def test_a_file_that_holds_no_chat_is_one_dead_letter(raw, reasons, read, write):
    made, letters = read(write(raw.encode(), "chat.json"), "beam-chats")
    assert (made, [x.reason for x in letters]) == ([], reasons)


def test_broken_questions_leave_the_chat_whole(read, folder):
    path = Path(folder())
    path.with_name("probing_questions.json").write_text('{"abstention": [{"question": "?", "rubric"')
    (made,), letters = read(str(path))
    assert (len(made.text), made.questions) == (5, [])
    assert {x.reason for x in letters} == {"generator_tag", "truncated_json"}


def test_the_given_chats_have_their_known_counts(shared_data, read):
    conversations, tags = [], 0
    for path in sorted((shared_data / "beam100k").glob("*/chat.json")):
        made, letters = read(str(path))
        assert [x.reason for x in letters] == ["generator_tag"]
        tags += len(json.loads(letters[0].payload))
        conversations += made
    questions = [question for made in conversations for question in made.questions]
    evidence = [status for question in questions for *_, status in question.evidence]
    assert len(conversations) == 12
    assert sum(len(made.sessions) for made in conversations) == 50
    assert sum(len(made.text) for made in conversations) == 3_212
    assert tags == 1_231 + 44
    assert not any("->->" in text for made in conversations for text in made.text)
    assert all(session.at is not None for made in conversations for session in made.sessions)
    assert (len(questions), sum(bool(question.evidence) for question in questions)) == (240, 215)
    assert (len(evidence), evidence.count("dangling"), evidence.count("malformed")) == (711, 0, 0)
    assert sum(not question.answerable for question in questions) == 24
