import json

import pytest


def line(*messages: object) -> dict[str, object]:
    return {"messages": list(messages)}


def test_roles_kinds_and_a_content_derived_id(read, write):
    chat = line(
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": "Hi.\r\n"},
        {"role": "assistant", "content": "Ho."},
    )
    path = write([chat, line({"role": "assistant", "content": "alone"})])
    found, letters = read(path)
    assert letters == []
    assert [(c.role, c.kind) for c in found] == [
        (["system", "user", "assistant"], ["system", "message", "message"]),
        (["assistant"], ["message"]),
    ]
    assert found[0].text[1] == "Hi.\r\n"
    renamed, _ = read(write([chat], "other name"))
    assert renamed[0].conversation_id == found[0].conversation_id != found[1].conversation_id


def test_tool_calls_have_their_own_turn_and_no_content_of_theirs_is_reported(read, write):
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '"{\\"a\\": 1}"'}}]
    path = write([line(
        {"role": "user", "content": "Do."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"role": "assistant", "content": "Did.", "tool_calls": calls},
        {"role": "assistant", "tool_calls": calls},
    )])  # fmt: skip
    (talk,), letters = read(path)
    assert letters == []
    assert talk.kind == ["message", "tool_call", "tool_result", "message", "tool_call", "tool_call"]
    assert json.loads(talk.text[1]) == calls
    assert talk.role[2] == "tool"


@pytest.mark.parametrize(
    ("content", "text", "reasons"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", []),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}], "a", ["part_without_text"]),
        ([{"type": "refusal", "refusal": "no"}], "no", []),
        ([{"type": "image_url", "image_url": {}}], None, ["part_without_text", "null_text"]),
        (["bare", {"type": "text", "text": None}], "bare", ["part_without_text"]),
        ({"type": "text", "text": "a"}, "a", []),
        ([], None, ["null_text"]),
        (None, None, ["null_text"]),
        ("", None, ["empty_text"]),
        (5, None, ["malformed_record"]),
    ],
)
def test_every_kind_of_content_has_a_documented_fate(read, write, content, text, reasons):
    path = write([line({"role": "user", "content": "first"}, {"role": "user", "content": content})])
    (talk,), letters = read(path)
    assert talk.text == ["first", *([] if text is None else [text])]
    assert [letter.reason for letter in letters] == reasons
    assert all(letter.position == 1 for letter in letters)


def test_messages_without_role_and_chats_without_messages_are_reported(read, write):
    path = write([line({"role": "user", "content": "a"}), line("x", {"content": "y"}), {"messages": 3}])
    found, letters = read(path)
    assert len(found) == 1
    assert [(x.reason, x.position) for x in letters] == [
        ("malformed_record", 2), ("malformed_record", 2), ("empty_conversation", 2), ("malformed_record", 3),
    ]  # fmt: skip
