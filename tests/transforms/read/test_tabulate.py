import copy

import pytest
from canonical import canonical_texts
from hypothesis import given, settings
from hypothesis import strategies as st

from memlake.schemas import TABLES
from memlake.transforms.base.conversation import Conversation, Question, Session
from memlake.transforms.base.ids import column_hash
from memlake.transforms.read.tabulate import tabulate, turns_hash

PIECES = st.sampled_from(["👨‍👩‍👧", "e\u0301", "\r\n", "\n", "\u00a0", "\x1f", "\u2028", '"', "\\", "日本", "x", ": "])
TEXTS = st.lists(PIECES, min_size=1, max_size=6).map("".join)


def conversation(name: str, pairs: list[tuple[str, str]], **changes: object) -> Conversation:
    count = len(pairs)
    made = Conversation(
        conversation_id=name,
        source_uri="somewhere",
        format="memlake-turns",
        sessions=[Session("s0", "8 May", 1_000_000, False), Session("s1")],
        session=[0] * (count - count // 2) + [1] * (count // 2),
        turn_id=[str(n) for n in range(count)],
        speaker=[speaker for speaker, _ in pairs],
        role=["user"] * count,
        kind=["message"] * count,
        text=[text for _, text in pairs],
        source_chars=[len(text) for _, text in pairs],
        said_at=[None] * count,
    )
    for key, value in changes.items():
        setattr(made, key, value)
    return made


@settings(max_examples=80)
@given(st.lists(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), min_size=1, max_size=4))
def test_spans_tile_the_canonical_text(talks):
    tables = tabulate("k", [conversation(f"c{n}", pairs) for n, pairs in enumerate(talks)], 1)
    texts = canonical_texts(tables["turns"])
    assert texts == ["\n".join(f"{speaker}: {text}" for speaker, text in pairs) for pairs in talks]
    assert tables["conversations"]["characters"].to_pylist() == list(map(len, texts))
    rows = iter(tables["turns"].to_pylist())
    for text, pairs in zip(texts, talks, strict=True):
        end = 0
        for ordinal, (speaker, said) in enumerate(pairs):
            row = next(rows)
            assert (row["ordinal"], row["char_start"]) == (ordinal, end)
            end = row["char_end"]
            expected = f"{speaker}: {said}" + ("\n" if ordinal < len(pairs) - 1 else "")
            assert text[row["char_start"] : end] == expected
        assert end == len(text)


def test_tables_have_the_stored_schemas_even_when_empty():
    question = Question(
        "q", 0, "Who painted?", "The painted boats", "1", evidence=[("1", "1", "valid"), ("x", None, "dangling")]
    )
    full = tabulate(
        "k", [conversation("c", [("Ana", "Hi."), ("Ben", "Ho.")], questions=[question])], {"memlake-turns": 1}
    )
    for tables in (full, tabulate("k", [], 1)):
        assert set(tables) == {"conversations", "turns", "questions", "evidence", "parts"}
        for name, table in tables.items():
            assert table.schema.equals(TABLES[name].schema)
            table.validate(full=True)
    assert full["questions"]["answer_tokens"].to_pylist() == [["boat", "paint"]]
    assert [(r["position"], r["ordinal"], r["status"]) for r in full["evidence"].to_pylist()] == [
        (0, 1, "valid"),
        (1, None, "dangling"),
    ]
    assert {r["part"]: r["rows"] for r in full["parts"].to_pylist()} == {"turns": 2, "questions:official": 1}
    assert full["conversations"]["first_at"].cast("int64").to_pylist() == [1_000_000]


def test_label_sets_are_parts_of_their_own():
    made = conversation("c", [("Ana", "Hi.")], questions=[Question("q", 0, "Who?", "Ana", "1")])
    both = copy.deepcopy(made)
    both.questions.append(Question("q", 0, "Who?", "Ben", "1", label_set="corrected"))
    before, after = (
        {row["part"]: row["content_hash"] for row in tabulate("k", [each], 1)["parts"].to_pylist()}
        for each in (made, both)
    )
    assert set(after) == {"turns", "questions:official", "questions:corrected"}
    assert before.items() <= after.items()


def test_the_hash_of_questions_covers_where_their_evidence_stands():
    cited = Question("q", 0, "Who?", "Ana", "1", evidence=[("t", "t", "valid")])
    loose = Question("q", 0, "Who?", "Ana", "1", label_set="mine", evidence=[("x", None, "dangling")])
    first, moved = (
        conversation("c", pairs, turn_id=names, questions=[cited, loose])
        for pairs, names in (
            ([("Ana", "Hi.")], ["t"]),
            ([("Ben", "Ho."), ("Ana", "Hi.")], ["new", "t"]),
        )
    )
    before, after = (
        {row["part"]: row["content_hash"] for row in tabulate("k", [each], 1)["parts"].to_pylist()}
        for each in (first, moved)
    )
    assert before["questions:official"] != after["questions:official"]
    assert before["questions:mine"] == after["questions:mine"]


@pytest.mark.parametrize(
    "change",
    [
        {"text": ["Hi.", "Ho!"]}, {"speaker": ["Ana", "Bob"]}, {"turn_id": ["0", "9"]}, {"role": ["user", "assistant"]},
        {"kind": ["message", "system"]}, {"said_at": [None, 0]}, {"source_chars": [3, 2]}, {"session": [0, 0]},
        {"sessions": [Session("s0", "8 May", 1_000_000, True), Session("s1")]}, {"text": ["Hi.Ho", "."]},
    ],
)  # fmt: skip
def test_the_hash_of_turns_covers_every_column(change):
    made = conversation("c", [("Ana", "Hi."), ("Ben", "Ho.")])
    assert turns_hash(made, 1) != turns_hash(conversation("c", [("Ana", "Hi."), ("Ben", "Ho.")], **change), 1)
    assert turns_hash(made, 1) != turns_hash(made, 2)
    assert turns_hash(made, 1) == turns_hash(
        conversation("other", [("Ana", "Hi."), ("Ben", "Ho.")], source_uri="moved"), 1
    )


COLUMN = st.lists(st.lists(st.sampled_from(["\x1f", "|", "a", "0", ":"]), max_size=4).map("".join), max_size=4)


@given(COLUMN, COLUMN, COLUMN, COLUMN)
def test_different_columns_never_share_a_hash(a, b, c, d):
    assert (column_hash(0, (a, b)) == column_hash(0, (c, d))) == ((a, b) == (c, d))
