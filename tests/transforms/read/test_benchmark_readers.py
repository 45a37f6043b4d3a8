"""What holds for every reader of a benchmark, whatever stands in its file."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation, Source
from memlake.transforms.read.catalogue import FORMATS, REVISIONS, read_source
from memlake.transforms.read.tabulate import tabulate

# Keys that the readers look at, so that random JSON gets past their doors.
KEYS = {
    "beam-chats": ["batch_number", "time_anchor", "turns", "role", "id", "content", "question", "rubric", "title"],
    "memsim": [
        "tid",
        "message_list",
        "mid",
        "message",
        "time",
        "question_list",
        "question",
        "choices",
        "target_step_id",
    ],
    "prefeval": ["preference", "question", "conversation", "persona", "implicit_query", "user_selection", "0"],
    "membench": ["tid", "message_list", "QA", "sid", "user", "agent", "question", "choices", "target_step_id"],
    "personamem": ["0123456789abcdef0", "chat_history", "role", "content", "metadata"],
}
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["", " ", "a", "0", "user", "system", "\ud83d"]),
    st.sampled_from(["March-15-2024", "2024年04月01日 周一 08:12", "x ->-> 1,1"]),
)  # fmt: skip


def json_of(keys: list[str]) -> st.SearchStrategy[object]:
    inner = st.recursive(
        LEAVES,
        lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(keys), values, max_size=6),
        max_leaves=25,
    )
    rows = st.dictionaries(st.sampled_from(keys), inner, min_size=2, max_size=8)
    return st.one_of(inner, rows, st.lists(rows, max_size=3))


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=30)
@given(data=st.data())
def test_no_content_makes_a_reader_raise_and_what_it_yields_can_be_stored(name, data):
    value = data.draw(json_of(KEYS[name]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chat.json")
        path.write_text(json.dumps(value))
        made = [item for item in read_source(Source(str(path)), name) if isinstance(item, Conversation)]
    for conversation in made:
        assert conversation.text
        assert not any(text.isspace() or not text for text in conversation.text)
        assert len(set(conversation.turn_id)) == len(conversation.turn_id)
        names = [question.question_id for question in conversation.questions]
        assert len(set(names)) == len(names)
        for question in conversation.questions:
            assert {turn for _, turn, _ in question.evidence} <= {None, *conversation.turn_id}
    distinct = {conversation.conversation_id: conversation for conversation in made}
    tabulate("corpus", list(distinct.values()), REVISIONS)


@pytest.mark.parametrize("name", KEYS)
def test_an_absent_file_is_a_dead_letter(name, tmp_path):
    (letter,) = read_source(Source(str(tmp_path / "absent.json")), name)
    assert letter.reason == "unreadable"
    found = list(FORMATS[name].read(Source(str(tmp_path / "absent.json")), None))
    assert "unreadable" in [item.reason for item in found]
