import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from memlake.transforms.read.catalogue import FORMATS, detect

CONTEXT = "0123456789abcdef" * 4
PERSONA = {"role": "system", "content": "Current user persona: Ana, who has a secret boat."}


def said(text: object, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": text}


HISTORY = [
    PERSONA,
    said("I like tea."),
    said("Noted.", "assistant"),
    PERSONA,
    said("I moved."),
    said("Please forget my address."),
    said("Now I like coffee."),
    said("Fine.", "assistant"),
]
ROW = {
    "question_id": "q-1",
    "persona_id": "4",
    "question_type": "recall_user_shared_facts",
    "topic": "drinks",
    "user_question_or_message": "What should I drink?",
    "correct_answer": "(b)",
    "all_options": "['(a) Juice', \"(b) Tea, it's yours\", '(c) Milk', '(d) Cola']",
    "shared_context_id": CONTEXT,
    "end_index_in_shared_context": "5",
}
CHAT = {"metadata": {"persona_id": 4, "total_messages": 5}, "chat_history": HISTORY}
ROW2 = {
    "persona_id": "4",
    "chat_history_32k_link": "data/chat_history_32k/chat_4.json",
    "user_query": "{'role': 'user', 'content': \"What's for me?\"}",
    "correct_answer": "Coffee",
    "incorrect_answers": '["Tea", "Milk", "Cola"]',
    "pref_type": "neutral",
    "preference": "coffee",
    "expanded_persona": "Ana, who has a secret boat.",
    "related_conversation_snippet": json.dumps([said("Now I like coffee."), said("Fine.", "assistant"), said("Gone.")]),
}


def table(*rows: dict[str, str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.fixture
def first(tmp_path: Path):
    """Write contexts and, where given, their questions; return the path of the contexts."""

    def call(*rows: dict[str, str], lines: object = None) -> str:
        if rows:
            (tmp_path / "questions_32k.csv").write_text(table(*rows))
        path = tmp_path / "shared_contexts_32k.jsonl"
        given = [{CONTEXT: HISTORY}] if lines is None else lines
        path.write_text("".join(json.dumps(line) + "\n" for line in given))
        return str(path)

    return call


@pytest.fixture
def second(tmp_path: Path):
    """Write a chat of version 2 and its table; return the path of the chat."""

    def call(*rows: dict[str, str], chat: object = CHAT) -> str:
        folder = tmp_path / "data" / "chat_history_32k"
        folder.mkdir(parents=True)
        (folder / "chat_4.json").write_text(json.dumps(chat))
        if rows:
            (tmp_path / "benchmark" / "text").mkdir(parents=True)
            (tmp_path / "benchmark" / "text" / "benchmark.csv").write_text(table(*rows))
        return str(folder / "chat_4.json")

    return call


def test_chats_and_tables_of_both_versions_are_known_by_their_structure():
    heads = [json.dumps({CONTEXT: HISTORY}), json.dumps(CHAT), json.dumps(CHAT, indent=2), table(ROW), table(ROW2)]
    for head in heads:
        assert detect(head.encode()) is FORMATS["personamem"]
    assert detect(("\ufeff" + table(ROW)).encode()) is FORMATS["personamem"]
    assert detect(json.dumps({CONTEXT: [said("long " * 20)] * 2000}).encode()[:65536]) is FORMATS["personamem"]


def test_a_question_sees_its_context_as_far_as_its_end(read, first):
    rows = (ROW, ROW | {"question_id": "q-2", "end_index_in_shared_context": "8"}, ROW | {"question_id": "q-3"})
    (early, late), letters = read(first(*rows))
    assert early.conversation_id == f"{CONTEXT}-5"
    assert early.text == ["I like tea.", "Noted.", "I moved."]
    assert [q.question_id for q in early.questions] == [f"{CONTEXT}-5:q-1", f"{CONTEXT}-5:q-3"]
    assert late.text[-1] == "Fine."
    assert [q.question_id for q in late.questions] == [f"{CONTEXT}-8:q-2"]
    assert {(x.reason, x.outcome) for x in letters} == {("persona_left_out", "skipped")}


def test_the_persona_reaches_no_turn_and_begins_a_session(read, first):
    (made,), (letter,) = read(first(ROW | {"end_index_in_shared_context": "8"}))
    assert "secret boat" not in repr(made)
    assert made.role.count("system") == 0
    assert made.session == [0, 0, 1, 1, 1, 1]
    assert "2 system messages" in letter.error


def test_a_request_to_forget_stays_as_a_turn_of_the_user_after_another(read, first):
    (made,), _ = read(first(ROW | {"end_index_in_shared_context": "8"}))
    assert made.role[2:5] == ["user", "user", "user"]
    assert made.text[3] == "Please forget my address."


def test_lettered_options_keep_their_order_and_lose_their_letters(read, first):
    (made,), _ = read(first(ROW))
    (question,) = made.questions
    assert question.options == ["Juice", "Tea, it's yours", "Milk", "Cola"]
    assert question.answer == "Tea, it's yours"
    assert question.attributes == {"right_option": 1, "persona_id": "4", "topic": "drinks"}
    assert (question.category, question.evidence) == ("recall_user_shared_facts", [])


def test_a_context_without_questions_is_one_conversation(read, first):
    (made,), _ = read(first(ROW | {"shared_context_id": "f" * 64}))
    assert (made.conversation_id, len(made.text), made.questions) == (CONTEXT, 6, [])


def test_contexts_without_their_table_land_and_say_so(read, first):
    (made,), letters = read(first())
    assert len(made.text) == 6
    assert ("questions_missing", "kept") in [(x.reason, x.outcome) for x in letters]


def test_a_chat_of_version_2_has_gold_where_its_snippet_stands(read, second):
    other = ROW2 | {"chat_history_32k_link": "data/chat_history_32k/chat_5.json"}
    (made,), letters = read(second(other, ROW2))
    (question,) = made.questions
    assert made.conversation_id == "chat_history_32k-chat_4"
    assert question.question_id == "chat_history_32k-chat_4:benchmark-1"
    assert question.text == "What's for me?"
    assert question.evidence == [("snippet-0", "6", "valid"), ("snippet-2", None, "dangling")]
    assert made.text[made.turn_id.index("6")] == "Now I like coffee."
    assert [(x.reason, x.outcome) for x in letters] == [("persona_left_out", "skipped")]


def test_the_right_answer_of_version_2_stands_at_no_fixed_place(read, second):
    (made,), _ = read(second(*[ROW2] * 60))
    assert {question.answer for question in made.questions} == {"Coffee"}
    assert {question.attributes["right_option"] for question in made.questions} == {0, 1, 2, 3}
    assert all(question.options[question.attributes["right_option"]] == "Coffee" for question in made.questions)
    assert "secret boat" not in repr(made)


def test_a_table_is_skipped_beside_its_chats_and_lost_without_them(read, first, second):
    for chats, path in ((first(ROW), "questions_32k.csv"), (second(ROW2), "../../benchmark/text/benchmark.csv")):
        file = Path(chats).parent / path
        made, (letter,) = read(str(file))
        assert (made, letter.reason, letter.outcome) == ([], "side_file", "skipped")
        Path(chats).unlink()
        _, (letter,) = read(str(file))
        assert (letter.reason, letter.outcome) == ("side_file", "dropped")


def test_hostile_lines_and_rows_die_alone(read, first):
    hostile = [None, said(None), said(7), "text", {"content": "No role."}, said("half \ud83d"), said(" ")]
    lines = [{CONTEXT: hostile}, {CONTEXT: HISTORY, "more": 1}, {CONTEXT: {}}, [1], {"f" * 64: []}]
    rows = [
        ROW | {"end_index_in_shared_context": "7"},
        ROW | {"end_index_in_shared_context": "99"},
        ROW | {"end_index_in_shared_context": "-1"},
        ROW | {"end_index_in_shared_context": "7", "user_question_or_message": " "},
        ROW | {"end_index_in_shared_context": "7", "all_options": "[oops", "question_id": "a:b"},
        ROW | {"end_index_in_shared_context": "7", "all_options": "['(a) \\ud83d', 5]", "correct_answer": "(a)"},
    ]
    path = first(*rows, lines=lines)
    with (Path(path).with_name("questions_32k.csv")).open("a") as file:
        file.write("too,few\r\n")
    (made,), letters = read(path, "personamem")
    assert made.text == ["No role.", "half \ufffd"]
    assert [(q.question_id.rpartition(":")[2], q.options) for q in made.questions] == [
        ("q-1", ["Juice", "Tea, it's yours", "Milk", "Cola"]),
        ("a%3Ab", []),
        ("q-1~2", ["\ufffd", "5"]),
    ]
    assert Counter((x.reason, x.outcome, x.scope) for x in letters) == {
        ("malformed_record", "dropped", "question"): 3,
        ("malformed_record", "dropped", "turn"): 3,
        ("malformed_record", "dropped", "conversation"): 3,
        ("null_text", "skipped", "turn"): 1,
        ("empty_text", "skipped", "turn"): 1,
        ("empty_text", "skipped", "question"): 1,
        ("lone_surrogate", "kept", "turn"): 2,
        ("options_unreadable", "kept", "question"): 1,
        ("empty_conversation", "skipped", "conversation"): 1,
    }


@pytest.mark.parametrize("raw", [b"\xff\xfe", b'question_id,a\n"unclosed', b""])
def test_a_table_that_is_none_leaves_the_chats_whole(raw, read, first):
    path = first()
    Path(path).with_name("questions_32k.csv").write_bytes(raw)
    (made,), letters = read(path)
    assert len(made.text) == 6
    assert {x.reason for x in letters} <= {"malformed_table", "persona_left_out", "malformed_record"}


def test_a_history_of_another_type_is_a_dead_letter(read, second):
    made, letters = read(second(ROW2, chat={"metadata": {}, "chat_history": {"role": "user"}}), "personamem")
    assert (made, [x.reason for x in letters]) == ([], ["malformed_record"])
