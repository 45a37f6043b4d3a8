import json


def item(**changes: object) -> dict[str, object]:
    made = {
        "question_id": "q7",
        "question_type": "knowledge-update",
        "question": "How many?",
        "answer": 3,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/20 (Sat) 01:00"],
        "haystack_session_ids": ["sharegpt_x", "answer_y"],
        "haystack_sessions": [
            [{"role": "assistant", "content": "Hm."}, {"role": "user", "content": " "}],
            [
                {"role": "user", "content": "Three.", "has_answer": True},
                {"role": "assistant", "content": "Ok.", "has_answer": False},
            ],
        ],
        "answer_session_ids": ["answer_y"],
    }
    return made | changes


def test_a_question_is_a_conversation_in_haystack_order(read, write):
    (made,), letters = read(write(json.dumps([item()]).encode()))
    (question,) = made.questions
    assert made.conversation_id == question.question_id == "q7"
    assert [(s.session_id, s.label) for s in made.sessions] == [
        ("s0", "2023/05/20 (Sat) 02:21"),
        ("s1", "2023/05/20 (Sat) 01:00"),
    ]
    assert made.turn_id == ["s0:t0", "s1:t0", "s1:t1"]
    assert (question.answer, question.category, question.answerable) == ("3", "knowledge-update", True)
    assert question.evidence == [("s1:t0", "s1:t0", "valid")]
    assert question.asked_at == 1685490000 * 1_000_000
    assert [(x.reason, x.outcome) for x in letters] == [("empty_text", "skipped")]


def test_session_ids_that_reveal_the_gold_reach_nothing_that_is_stored(read, write):
    (made,), _ = read(write(json.dumps([item()]).encode()))
    assert "answer_y" not in repr(made)
    assert "sharegpt" not in repr(made)
    assert made.questions[0].attributes == {"answer_sessions": ["s1"]}


def test_abstention_stands_in_the_id(read, write):
    (made,), _ = read(write(json.dumps([item(question_id="q7_abs")]).encode()))
    assert (made.questions[0].answerable, made.questions[0].category) == (False, "knowledge-update")


def test_the_turns_of_an_abstention_question_are_kept_and_are_no_gold(read, write):
    (made,), _ = read(write(json.dumps([item(question_id="q7_abs")]).encode()))
    assert made.questions[0].evidence == [("s1:t0", "s1:t0", "abstention")]


def test_missing_dates_and_broken_items_are_reported(read, write):
    found, letters = read(write(json.dumps([item(haystack_dates=[]), {"question_id": "x"}, None]).encode()))
    assert len(found) == 1
    assert [x.reason for x in letters] == [
        "empty_text",
        "undated_session",
        "undated_session",
        *["malformed_record"] * 2,
    ]


def test_the_given_instances_have_their_known_counts(shared_data, read):
    folder = shared_data / "longmemeval"
    (single,), _ = read(str(folder / "longmemeval_s_single.json"))
    assert (single.conversation_id, len(single.sessions), len(single.text)) == ("e47becba", 53, 550)
    assert sum(map(len, single.text)) == 485_494
    assert len(single.questions[0].evidence) == 2
    oracle, _ = read(str(folder / "longmemeval_oracle_2.json"))
    assert [(made.conversation_id, len(made.sessions), len(made.text)) for made in oracle] == [
        ("6a1eabeb", 2, 24),
        ("gpt4_70e84552_abs", 2, 24),
    ]
    assert [made.questions[0].answerable for made in oracle] == [True, False]
    assert [{status for *_, status in made.questions[0].evidence} for made in oracle] == [{"valid"}, {"abstention"}]
