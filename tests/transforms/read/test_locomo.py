import json

import pytest

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.read.formats.locomo.answers import TURN_ID, corrected_answer
from memlake.transforms.read.formats.locomo.questions import gold_of


def talk(**changes: object) -> dict[str, object]:
    made = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "12:09 am on 13 September, 2023",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red boat"},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Nice. "},
            ],
            "session_10_date_time": "1:56 pm on 8 May, 2024",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "", "blip_caption": "a hat"}],
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "Undated."}],
            "session_11_date_time": "1:56 pm on 9 May, 2024",
        },
        "qa": [
            {"question": "What?", "answer": 2022, "evidence": ["D1:1"], "category": 2},
            {"question": "Who?", "adversarial_answer": "Ben", "evidence": ["D1:01; D9:9"], "category": 5},
        ],
        "observation": {"session_1_observation": {"Ana": [["Ana has a boat.", "D1:1, D1:2"], ["Twice.", ["D1:1"]]]}},
        "session_summary": {"session_1_summary": "A boat.", "session_11_summary": ""},
        "event_summary": {"events_session_1": {"Ana": ["Boat."], "Ben": [], "date": "13 September, 2023"}},
    }
    return made | changes


def test_sessions_captions_dates_and_units_land(read, write):
    (made,), letters = read(write(json.dumps([talk()]).encode()))
    assert made.text == ["Look! [shares a red boat]", "Nice. ", "Undated.", " [shares a hat]"]
    assert made.source_chars == [5, 6, 8, 0]
    assert [(s.session_id, s.label) for s in made.sessions] == [
        ("session_1", "12:09 am on 13 September, 2023"),
        ("session_2", None),
        ("session_10", "1:56 pm on 8 May, 2024"),
    ]
    assert made.sessions[0].at == 1694563740 * 1_000_000
    assert [(x.reason, x.scope, x.outcome) for x in letters] == [("undated_session", "session", "kept")]
    assert [(u.representation, u.text, u.turn_ids, u.speaker) for u in made.supplied] == [
        ("observations", "Ana has a boat.", ["D1:1", "D1:2"], "Ana"),
        ("observations", "Twice.", ["D1:1"], "Ana"),
        ("session_summaries", "A boat.", ["D1:1", "D1:2"], None),
        ("event_summaries", "Boat.", ["D1:1", "D1:2"], "Ana"),
    ]


def test_answers_are_text_and_adversarial_ones_are_attributes(read, write):
    (made,), _ = read(write(json.dumps([talk()]).encode()))
    first, second = made.questions
    assert (first.question_id, first.answer, first.category, first.answerable) == ("conv-1:q0", "2022", "2", True)
    assert (second.answer, second.answers, second.answerable) == (None, [], False)
    assert second.attributes == {"adversarial_answer": "Ben"}
    assert second.evidence == [("D1:01; D9:9", "D1:1", "normalised"), ("D1:01; D9:9", None, "dangling")]


def test_evidence_is_repaired_by_rule_and_never_guessed():
    turns = {"D8:6", "D9:17", "D30:5"}
    assert gold_of(["D8:6; D9:17", "D", "D:11:26", "D30:05", "D10:19", "D8:6"], turns) == [
        ("D8:6; D9:17", "D8:6", "normalised"),
        ("D8:6; D9:17", "D9:17", "normalised"),
        ("D", None, "malformed"),
        ("D:11:26", None, "malformed"),
        ("D30:05", "D30:5", "normalised"),
        ("D10:19", None, "dangling"),
        ("D8:6", "D8:6", "duplicate"),
    ]


def test_the_older_layout_has_the_same_turns_under_a_content_derived_id(read, write):
    made = talk()
    older = {
        **made["conversation"], "qa": made["qa"], **made["observation"], **made["session_summary"],
        **made["event_summary"],
    }  # fmt: skip
    (a,), _ = read(write(json.dumps([made]).encode(), "official"))
    (b,), _ = read(write(json.dumps(older).encode(), "older"))
    (c,), _ = read(write(json.dumps(older, indent=2).encode(), "older again"))
    assert (a.text, a.turn_id, a.sessions, a.supplied) == (b.text, b.turn_id, b.sessions, b.supplied)
    assert b.conversation_id == c.conversation_id != a.conversation_id


def test_corrections_are_a_second_full_set_of_labels(read, write):
    rows = [
        {"question_id": "locomo_0_qa0", "question": "What?", "error_type": "HALLUCINATION", "correct_answer": "2021",
         "correct_evidence": ["D1:2"]},
        {"question_id": "locomo_0_qa1", "question": "Another text", "correct_answer": "no"},
    ]  # fmt: skip
    path = write(json.dumps(rows).encode(), "corrections.json")
    (made,), letters = read(write(json.dumps([talk()]).encode()), corrections=path)
    official, fixed = made.questions[:2], made.questions[2:]
    assert [q.question_id for q in official] == [q.question_id for q in fixed]
    assert {q.label_set for q in fixed} == {"corrected"}
    assert (fixed[0].answer, fixed[0].evidence) == ("2021", [("D1:2", "D1:2", "valid")])
    assert (fixed[1].answer, fixed[1].evidence) == (official[1].answer, official[1].evidence)
    assert "correction_mismatch" in [letter.reason for letter in letters]


def test_a_correction_of_the_citation_alone_leaves_the_answer(read, write):
    rows = [{"question_id": "locomo_0_qa0", "question": "What?", "error_type": "WRONG_CITATION",
             "correct_answer": "2022 (citation is wrong)", "correct_evidence": ["D1:2"]}]  # fmt: skip
    path = write(json.dumps(rows).encode(), "corrections.json")
    (made,), _ = read(write(json.dumps([talk()]).encode()), corrections=path)
    assert (made.questions[2].answer, made.questions[2].evidence[0][1]) == ("2022", "D1:2")


def corrected(read, write, **row: object):
    """The first question as corrected by a row, beside the official one."""
    rows = [{"question_id": "locomo_0_qa0", "question": "What?", **row}]
    path = write(json.dumps(rows).encode(), "corrections.json")
    (made,), _ = read(write(json.dumps([talk()]).encode()), corrections=path)
    return made.questions[2], made.questions[0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        (None, []),
        (["D1:2"], [("D1:2", "D1:2", "valid")]),
        (["D1:02"], [("D1:02", "D1:2", "normalised")]),
    ],
)
def test_a_correction_that_gives_evidence_decides_it_even_when_empty(read, write, given, expected):
    fixed, official = corrected(read, write, correct_answer="2021", correct_evidence=given)
    assert fixed.evidence == expected
    assert official.evidence == [("D1:1", "D1:1", "valid")]
    without, _ = corrected(read, write, correct_answer="2021")
    assert without.evidence == official.evidence


@pytest.mark.parametrize(
    ("error_type", "given", "expected"),
    [
        ("HALLUCINATION", "2021", "2021"),
        ("HALLUCINATION", 2021, "2021"),
        ("HALLUCINATION", "2022 (but the month is made up)", "2022"),
        ("HALLUCINATION", "2022. (May (or June)) (see D1:2).", "2022"),
        ("HALLUCINATION", "2022 (May) or 2023 (June)", "2022 (May) or 2023 (June)"),
        ("HALLUCINATION", "Two (1 red, 1 blue)", "Two (1 red, 1 blue)"),
        ("HALLUCINATION", "A hat (D1:2), a boat (D10:1 - red)", "A hat, a boat"),
        ("HALLUCINATION", "A hat, per D1:2", "A hat, per D1:2"),
        ("HALLUCINATION", "(D1:2)", "2022"),
        ("HALLUCINATION", " ", "2022"),
        ("HALLUCINATION", None, "2022"),
        ("WRONG_CITATION", "The answer is right, only the citation is not mentioned", "2022"),
        ("HALLUCINATION", "Cannot be determined from the text. Ben says so.", None),
        ("AMBIGUOUS", "Cannot be reliably determined; Ana was there", None),
        ("AMBIGUOUS", "Unclear - D1:1 says a boat, D1:2 a hat.", None),
        ("ATTRIBUTION_ERROR", "The hat is Ben's. Ana has not mentioned one.", None),
        ("HALLUCINATION", "A hat (D1:2). The boat cannot be determined.", "A hat. The boat cannot be determined."),
        ("HALLUCINATION", "A hat (its colour is not stated)", "A hat (its colour is not stated)"),
    ],
)
def test_answers_lose_their_remarks_and_those_that_cannot_be_known_are_none(read, write, error_type, given, expected):
    fixed, official = corrected(read, write, error_type=error_type, correct_answer=given)
    assert (fixed.answer, fixed.answers) == (expected, [] if expected is None else [expected])
    assert fixed.answerable == (expected is not None)
    assert (official.answer, official.answerable) == ("2022", True)
    assert fixed.attributes == {"correction_type": error_type} | ({} if given is None else {"correction": given})


def test_an_official_answer_with_parentheses_is_told_from_its_remarks():
    row = {"correct_answer": "An eagle (free)  (a symbol)"}
    assert corrected_answer(row, "an eagle(free).") == ("an eagle(free).", True)
    assert corrected_answer(row, "An eagle") == ("An eagle", True)
    assert corrected_answer(row, "A hawk") == ("An eagle (free)  (a symbol)", True)
    assert corrected_answer(row, None) == ("An eagle (free)  (a symbol)", True)


def test_corrections_that_cannot_be_applied_to_a_file_are_reported_once_and_invent_no_labels(read, write):
    path = write(b"[]", "corrections.json")
    for name, content in (("one", talk()), ("older", {**talk()["conversation"], "qa": talk()["qa"]})):
        (made,), letters = read(write(json.dumps(content).encode(), name), corrections=path)
        assert {question.label_set for question in made.questions} == {"official"}
        assert [(x.reason, x.scope, x.outcome) for x in letters if x.scope == "file"] == [
            ("corrections_not_applied", "file", "kept")
        ]
        _, letters = read(write(json.dumps(content).encode(), name))
        assert "corrections_not_applied" not in {letter.reason for letter in letters}


def test_missing_corrections_are_an_error_of_the_caller(read, write, tmp_path):
    with pytest.raises(NotFoundError, match="does not exist"):
        read(write(json.dumps([talk()]).encode()), corrections=str(tmp_path / "absent.json"))


def test_a_broken_conversation_does_not_lose_its_neighbours(read, write):
    found, letters = read(write(json.dumps([talk(), 5, {"conversation": []}, {}, talk(sample_id="conv-2")]).encode()))
    assert [made.conversation_id for made in found] == ["conv-1", "conv-2"]
    assert {"malformed_record", "empty_conversation"} <= {letter.reason for letter in letters}


def test_the_official_file_has_its_known_counts(shared_data, read):
    found, letters = read(str(shared_data / "locomo" / "locomo10.json"))
    questions = [question for made in found for question in made.questions]
    assert len(found) == 10
    assert sum(len(made.sessions) for made in found) == 272
    assert sum(len(made.text) for made in found) == 5882
    assert len(questions) == 1986
    assert sum(any(turn_id for _, turn_id, _ in question.evidence) for question in questions) == 1982
    odd = {
        (q.question_id, raw) for q in questions for raw, _, status in q.evidence if status not in ("valid", "duplicate")
    }
    assert len(odd) == 9
    by_category = [sum(question.category == str(number) for question in questions) for number in range(1, 6)]
    assert by_category == [282, 321, 96, 841, 446]
    units = [unit.representation for made in found for unit in made.supplied]
    assert (units.count("observations"), units.count("session_summaries")) == (2541, 272)
    assert [(x.reason, x.scope, x.outcome) for x in letters] == [("empty_text", "unit", "skipped")]


@pytest.mark.parametrize(("file", "name"), [("26.json", "conv-26"), ("41.json", "conv-41")])
def test_the_older_files_equal_their_conversations_in_the_official_one(shared_data, read, file, name):
    found, _ = read(str(shared_data / "locomo" / "locomo10.json"))
    (older,), _ = read(str(shared_data / "locomo" / "older_layout" / file))
    official = next(made for made in found if made.conversation_id == name)
    for column in ("text", "turn_id", "speaker", "session", "source_chars", "sessions"):
        assert getattr(older, column) == getattr(official, column)
    assert [(q.text, q.answer, q.evidence) for q in older.questions] == [
        (q.text, q.answer, q.evidence) for q in official.questions
    ]


def test_every_correction_finds_its_question(shared_data, read):
    folder = shared_data / "locomo"
    found, letters = read(str(folder / "locomo10.json"), corrections=str(folder / "corrections.json"))
    questions = [question for made in found for question in made.questions]
    official = {q.question_id: q for q in questions if q.label_set == "official"}
    fixed = [q for q in questions if q.label_set == "corrected"]
    assert len(official) == len(fixed) == 1986
    corrections = [q for q in fixed if "correction" in q.attributes]
    assert len(corrections) == 156
    assert [q.question_id for q in corrections if not q.evidence] == ["conv-47:q11"]
    assert sum(q.evidence != official[q.question_id].evidence for q in corrections) == 97
    # Of the 99 that touch the answer, 11 are the official one with a remark and 9 say that there is none to be known.
    touching = [q for q in corrections if q.attributes["correction_type"] != "WRONG_CITATION"]
    assert len(touching) == 99
    assert sum(q.answer == official[q.question_id].answer for q in touching) == 11
    assert sum(not q.answerable for q in touching) == 9
    printed = {q.question_id: q.attributes["correction"] for q in touching}
    cut = [q for q in touching if q.answer not in (None, printed[q.question_id], official[q.question_id].answer)]
    assert len(cut) == 14
    assert not any(TURN_ID.search(q.answer) for q in cut)
    assert sum(q.answer != official[q.question_id].answer for q in fixed) == 88
    assert all(q.answerable == (q.category != "5") for q in official.values())
    assert "correction_mismatch" not in {letter.reason for letter in letters}
