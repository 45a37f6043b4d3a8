import json
from collections import Counter
from pathlib import Path

import pytest

from memlake.transforms.read.catalogue import FORMATS, detect
from memlake.transforms.read.formats.prefeval.chats import EXCHANGES

PREFERENCE = {"preference": "I never eat fish.", "question": "What should I cook tonight?", "explanation": "No fish."}
CHOICE = PREFERENCE | {
    "implicit_query": "Lunch?",
    "options": ["soup", "tuna"],
    "conversation": {
        "query": "Lunch?",
        "assistant_options": "1. Soup 2. Tuna",
        "user_selection": "Soup, not the other.",
        "assistant_acknowledgment": "Soup it is.",
    },
    "aligned_op": "soup",
}
PERSONA = PREFERENCE | {
    "persona": "A teacher",
    "conversation": {
        "0": {"user": "Hello.", "assistant": "Hello!"},
        "10": {"user": "Last."},
        "2": {"user": "As I never eat fish, what else?", "assistant": "Beans."},
    },
}
OPTIONS = PREFERENCE | {"classification_task_options": ["Beans", "Salmon", "Cod", "Tuna"]}
TALK = [{"content": f"line {place}", "role": ("user", "assistant")[place % 2]} for place in range(2 * EXCHANGES + 4)]
FILLERS = [
    {"conversation_id": str(part), "turn": 2, "conversation": TALK[part * 6 : part * 6 + 6], "language": "English"}
    for part in range(4)
]
FOLDERS = {
    "explicit": ("explicit_preference", [PREFERENCE]),
    "choice-based": ("implicit_preference/choice-based", [CHOICE]),
    "persona-driven": ("implicit_preference/persona-driven", [PERSONA]),
    "options": ("mcq_options", [OPTIONS]),
}


@pytest.fixture
def tree(tmp_path: Path):
    """Write the benchmark's folders; return the path of a form's file of the topic 'meals'."""

    def call(form: str, rows: object = None, *, without: tuple[str, ...] = (), **changes: list[object]) -> str:
        for name, (folder, given) in FOLDERS.items():
            if name in without:
                continue
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            written = rows if name == form and rows is not None else changes.get(name, given)
            (tmp_path / folder / "meals.json").write_text(json.dumps(written))
        if "fillers" not in without:
            (tmp_path / "filtered_inter_turns.json").write_text(json.dumps(changes.get("fillers", FILLERS)))
        return str(tmp_path / FOLDERS[form][0] / "meals.json")

    return call


def test_forms_and_the_files_that_go_with_them_are_known_by_their_structure():
    for rows in ([PREFERENCE], [CHOICE], [PERSONA], [OPTIONS], FILLERS):
        for indent in (None, 4):
            assert detect(json.dumps(rows, indent=indent).encode()) is FORMATS["prefeval"]


def test_a_preference_comes_first_then_chat_about_other_things(read, tree):
    (made,), letters = read(tree("explicit"))
    assert letters == []
    assert made.conversation_id == "meals-explicit-0"
    assert made.text[0] == "I never eat fish."
    assert made.text[1:] == [f"line {place}" for place in range(2 * EXCHANGES)]
    assert made.role[:4] == ["user", "user", "assistant", "user"]
    assert len(made.sessions) == 1


@pytest.mark.parametrize(
    ("form", "before", "gold", "grain"),
    [
        ("explicit", 1, ["0"], "turn"),
        ("choice-based", 4, ["2"], "turn"),
        ("persona-driven", 5, ["0", "2", "4"], "conversation"),
    ],
)
def test_the_turns_in_which_the_preference_shows_are_gold(form, before, gold, grain, read, tree):
    (made,), _ = read(tree(form))
    (question,) = made.questions
    assert len(made.text) == before + 2 * EXCHANGES
    assert question.evidence == [(name, name, "valid") for name in gold]
    assert (question.category, question.attributes["evidence_grain"]) == (form, grain)
    assert question.question_id == f"meals-{form}-0:q0"


def test_exchanges_of_a_persona_are_in_the_order_of_their_numbers(read, tree):
    (made,), _ = read(tree("persona-driven"))
    assert made.text[:5] == ["Hello.", "Hello!", "As I never eat fish, what else?", "Beans.", "Last."]


def test_options_are_shuffled_alike_in_all_forms_and_the_right_one_is_kept_apart(read, tree):
    rows = [OPTIONS] * 60
    shown = []
    for form, row in (("explicit", PREFERENCE), ("choice-based", CHOICE), ("persona-driven", PERSONA)):
        found, _ = read(tree(form, [row] * 60, options=rows))
        questions = [made.questions[0] for made in found]
        assert {question.answer for question in questions} == {"Beans"}
        assert all(question.options[question.attributes["right_option"]] == "Beans" for question in questions)
        assert all(sorted(question.options) == sorted(OPTIONS["classification_task_options"]) for question in questions)
        shown.append([question.options for question in questions])
    assert shown[0] == shown[1] == shown[2]
    places = Counter(options.index("Beans") for options in shown[0])
    assert set(places) == {0, 1, 2, 3}
    assert max(places.values()) < 30


def test_nothing_of_the_gold_stands_in_an_id_or_in_a_turn_that_is_not_the_sources(read, tree):
    (made,), _ = read(tree("choice-based"))
    assert made.turn_id == [str(place) for place in range(len(made.text))]
    assert not {"Beans", "Salmon"} & set(made.text)


def test_options_of_another_question_are_not_taken(read, tree):
    (made,), (letter,) = read(tree("explicit", options=[OPTIONS | {"question": "Other?"}]))
    assert (made.questions[0].options, made.questions[0].answer) == ([], None)
    assert (letter.reason, letter.outcome) == ("options_missing", "kept")


def test_a_missing_file_is_reported_and_the_preference_still_lands(read, tree):
    (made,), letters = read(tree("explicit", without=("options", "fillers")))
    assert (made.text, made.questions[0].options) == (["I never eat fish."], [])
    assert [(x.reason, x.outcome) for x in letters] == [("side_file_missing", "kept")] * 2


def test_files_that_hold_no_preference_of_their_own_are_skipped(read, tree):
    path = Path(tree("options"))
    for file in (path, path.parent.parent / "filtered_inter_turns.json"):
        made, (letter,) = read(str(file))
        assert (made, letter.reason, letter.outcome) == ([], "side_file", "skipped")


def test_chats_of_the_same_layout_under_another_name_are_not_skipped_in_silence(read, write):
    made, (letter,) = read(write(json.dumps(FILLERS).encode(), "chats.json"))
    assert (made, letter.reason, letter.outcome) == ([], "side_file", "dropped")


def test_hostile_rows_die_alone(read, tree):
    rows = [
        PREFERENCE,
        PREFERENCE | {"preference": None},
        PREFERENCE | {"preference": ["x"]},
        PREFERENCE | {"question": 3},
        PREFERENCE | {"preference": "half \ud83d"},
        CHOICE | {"conversation": {"query": "", "user_selection": "Soup."}},
        PERSONA | {"conversation": {"a": "text", "b": {"assistant": 1}}},
        PERSONA | {"conversation": 7},
        OPTIONS,
        "text",
        None,
    ]
    found, letters = read(
        tree("explicit", rows, options=[{"question": PREFERENCE["question"], "classification_task_options": []}])
    )
    assert [made.conversation_id.removeprefix("meals-") for made in found] == [
        "explicit-0", "explicit-3", "explicit-4", "choice-based-5", "persona-driven-6",
    ]  # fmt: skip
    assert [len(made.questions) for made in found] == [1, 0, 1, 1, 1]
    assert found[2].text[0] == "half \ufffd"
    assert (found[3].text[0], found[3].questions[0].evidence) == ("Soup.", [("0", "0", "valid")])
    assert found[4].text[0] == "text"
    assert Counter((x.reason, x.outcome, x.scope) for x in letters) == {
        ("malformed_record", "dropped", "question"): 2,
        ("options_missing", "kept", "question"): 4,
        ("null_text", "skipped", "turn"): 4,
        ("malformed_record", "dropped", "turn"): 3,
        ("empty_text", "skipped", "turn"): 1,
        ("lone_surrogate", "kept", "turn"): 1,
        ("empty_conversation", "dropped", "conversation"): 3,
        ("malformed_record", "dropped", "conversation"): 3,
    }


def test_hostile_chats_in_between_are_passed_over_and_reported(read, tree):
    fillers = [{"conversation": [None, {"role": "bot", "content": "x"}, {"role": "user", "content": " "}]}, 3, *FILLERS]
    (made,), letters = read(tree("explicit", fillers=fillers))
    assert made.text[1:] == [f"line {place}" for place in range(2 * EXCHANGES)]
    assert Counter(x.reason for x in letters) == {"malformed_record": 3, "empty_text": 1}


def test_the_given_preferences_have_their_known_counts(shared_data, read):
    forms: Counter[str] = Counter()
    names = set()
    right: Counter[int] = Counter()
    for path in sorted((shared_data / "prefeval").rglob("*.json")):
        found, letters = read(str(path))
        assert {x.outcome for x in letters} <= {"skipped"}
        for made in found:
            (question,) = made.questions
            forms[question.category] += 1
            names.add(made.conversation_id)
            right[question.attributes["right_option"]] += 1
            assert len(question.options) == 4
            assert question.options[question.attributes["right_option"]] == question.answer
            assert {status for *_, status in question.evidence} == {"valid"}
    assert forms == {"explicit": 144, "choice-based": 144, "persona-driven": 144}
    assert len(names) == 432
    assert set(right) == {0, 1, 2, 3}
