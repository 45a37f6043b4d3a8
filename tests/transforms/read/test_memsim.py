import json
from collections import Counter

from memlake.transforms.read.catalogue import FORMATS, detect
from memlake.transforms.read.common.dated_messages import places_of


def trajectory(**changes: object) -> dict[str, object]:
    made = {
        "tid": 0,
        "message_list": [
            {"mid": 0, "message": "我的妹妹住在海边。", "time": "2024年04月01日 周一 20:12", "place": "北城"},
            {"mid": 1, "message": "她喜欢画画。", "time": "2024年04月02日 周二 07:40", "place": "北城"},
            {"mid": 2, "message": "她养了一只猫。", "time": "2024年04月02日 周二 21:05", "place": "北城"},
        ],
        "question_list": [
            {
                "qid": 0,
                "question": "她养了什么？",
                "answer": "猫",
                "target_step_id": [2, 0],
                "choices": {"A": "狗", "B": "猫", "C": "鸟", "D": 4},
                "ground_truth": "B",
                "time": "2024年04月03日 周三 09:00",
            }
        ],
    }
    return made | changes


def in_file(*rows: object) -> bytes:
    return json.dumps(list(rows), ensure_ascii=False).encode()


def test_trajectories_are_known_by_their_structure_and_read_by_days(read, write):
    path = write(in_file(trajectory()), "02_conditional_roles.json")
    assert detect(in_file(trajectory())) is FORMATS["memsim"]
    (made,), letters = read(path)
    assert letters == []
    assert made.conversation_id == "02_conditional_roles-0"
    assert [(s.session_id, s.label) for s in made.sessions] == [
        ("2024-04-01", "2024年04月01日 周一"),
        ("2024-04-02", "2024年04月02日 周二"),
    ]
    assert made.sessions[0].at == 1_711_929_600 * 1_000_000
    assert (made.session, made.turn_id) == ([0, 1, 1], ["0", "1", "2"])
    assert made.said_at[0] == 1_712_002_320 * 1_000_000
    assert set(made.role) == {"user"}


def test_a_question_has_its_options_in_the_sources_order_and_the_right_one_apart(read, write):
    (made,), _ = read(write(in_file(trajectory()), "02_conditional_roles.json"))
    (question,) = made.questions
    assert (question.question_id, question.category) == ("02_conditional_roles-0:0", "conditional")
    assert question.options == ["狗", "猫", "鸟", "4"]
    assert question.attributes == {"right_option": 1, "place": "北城", "entity": "roles"}
    assert (question.answer, question.answers) == ("猫", ["猫"])
    assert question.evidence == [("2", "2", "valid"), ("0", "0", "valid")]
    assert question.asked_at == 1_712_134_800 * 1_000_000


def test_ids_that_restart_in_every_file_do_not_clash(read, write):
    names = ["01_simple_events.json", "01_simple_items.json"]
    found = [read(write(in_file(trajectory(), trajectory(tid=1)), name))[0] for name in names]
    assert len({made.conversation_id for of_file in found for made in of_file}) == 4
    assert len({made.questions[0].question_id for of_file in found for made in of_file}) == 4


def test_messages_are_ordered_by_time_and_evidence_follows_them(read, write):
    messages = trajectory()["message_list"]
    (made,), _ = read(write(in_file(trajectory(message_list=messages[::-1]))))
    assert made.turn_id == ["0", "1", "2"]
    assert made.questions[0].evidence[0] == ("2", "2", "valid")


def test_the_place_of_a_message_is_no_part_of_its_text(read, write):
    (made,), _ = read(write(in_file(trajectory())))
    assert not any("北城" in text for text in made.text)


def test_hostile_rows_die_alone(read, write):
    messages = [
        {"mid": 0, "message": "ok"},
        {"mid": 1, "message": None, "time": "x"},
        {"mid": 2, "message": 7},
        None,
        {"mid": 0, "message": "other", "time": "someday"},
        {"mid": [1], "message": "half \ud83d"},
    ]
    questions = [
        {"qid": 0, "question": "a?", "answer": 12, "target_step_id": "0", "choices": ["A"], "ground_truth": "A"},
        {"qid": 0, "question": "b?", "target_step_id": [9, True], "choices": {"A": "x"}, "ground_truth": "Z"},
        {"question": None},
        "text",
    ]
    hostile = trajectory(tid=5, message_list=messages, question_list=questions)
    raw = json.dumps(
        [hostile, {"tid": 1}, [], trajectory(tid=2, message_list=[]), trajectory(tid=3, question_list=None)]
    )
    found, letters = read(write(raw.encode(), "x.json"), "memsim")
    assert [made.conversation_id for made in found] == ["x-5", "x-3"]
    assert found[0].text == ["ok", "other", "half \ufffd"]
    assert found[0].turn_id == ["0", "0~2", "2"]
    first, second = found[0].questions
    assert (first.question_id, second.question_id) == ("x-5:0", "x-5:0~2")
    assert (first.answer, first.options, first.evidence) == ("12", [], [("0", "0", "valid")])
    assert (second.answer, second.options, second.attributes) == (None, ["x"], {})
    assert second.evidence == [("9", None, "dangling"), ("true", None, "malformed")]
    assert found[1].questions == []
    assert Counter((x.reason, x.outcome) for x in letters) == {
        ("lone_surrogate", "kept"): 1,
        ("null_text", "skipped"): 2,
        ("malformed_record", "dropped"): 5,
        ("repeated_turn_id", "kept"): 1,
        ("broken_date", "kept"): 1,
        ("empty_conversation", "skipped"): 1,
    }


def test_the_given_trajectories_have_their_known_counts(shared_data, read):
    conversations = []
    for path in sorted((shared_data / "memsim").glob("*.json")):
        made, letters = read(str(path))
        assert letters == []
        conversations += made
    questions = [question for made in conversations for question in made.questions]
    assert len({made.conversation_id for made in conversations}) == 300
    assert sum(len(made.text) for made in conversations) == 2_680
    assert all(at is not None for made in conversations for at in made.said_at)
    assert Counter(question.category for question in questions) == dict.fromkeys(
        ["simple", "conditional", "comparative", "aggregative", "post_processing", "noisy"], 50
    )
    assert Counter(len(question.evidence) for question in questions) == {1: 20, 2: 128, 3: 12, 4: 110, 8: 30}
    assert {status for question in questions for *_, status in question.evidence} == {"valid"}
    assert all(question.options[question.attributes["right_option"]] == question.answer for question in questions)


def test_a_place_that_is_no_name_is_left_out():
    assert places_of([{"place": ["x"]}, {"place": {}}, {"place": "北城"}, "x"]) == {"place": "北城"}
