"""Turns and units for tests of what is made of transcripts, and odd texts for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from canonical import canonical_texts
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation, Session
from memlake.transforms.read.tabulate import tabulate

# conversation id -> its sessions: (label, [(speaker, text), ...])
Talk = Mapping[str, Sequence[tuple[str | None, Sequence[tuple[str, str]]]]]


def _conversation(name: str, sessions: Sequence[tuple[str | None, Sequence[tuple[str, str]]]]) -> Conversation:
    made = Conversation(name, "memory:", "test")
    for number, (label, turns) in enumerate(sessions):
        made.sessions.append(Session(f"s{number}", label))
        for speaker, text in turns:
            made.session.append(number)
            made.turn_id.append(f"D{number}:{len(made.text)}")
            made.speaker.append(speaker)
            made.role.append("participant")
            made.kind.append("message")
            made.text.append(text)
            made.source_chars.append(len(text))
            made.said_at.append(None)
    return made


@pytest.fixture(scope="session")
def conversations_of() -> Callable[[Talk], list[Conversation]]:
    return lambda talk: [_conversation(name, sessions) for name, sessions in talk.items()]


@pytest.fixture(scope="session")
def turns_of(conversations_of: Callable[[Talk], list[Conversation]]) -> Callable[[Talk], pa.Table]:
    return lambda talk: tabulate("c", conversations_of(talk), 1)["turns"]


@pytest.fixture(scope="session")
def canonical() -> Callable[[pa.Table], dict[str, str]]:
    """Canonical text by conversation, from the rule where turns are tabulated."""

    def texts(turns: pa.Table) -> dict[str, str]:
        names = dict.fromkeys(turns["conversation_id"].to_pylist())
        return dict(zip(names, canonical_texts(turns), strict=True)) if names else {}

    return texts


@pytest.fixture(scope="session")
def check_slices(canonical: Callable[[pa.Table], dict[str, str]]) -> Callable[[pa.Table, pa.Table], None]:
    """Every unit shows exactly what its span holds in the canonical text, behind its lead, and is never empty."""

    def check(turns: pa.Table, units: pa.Table) -> None:
        texts = canonical(turns)
        for unit in units.to_pylist():
            piece = texts[unit["conversation_id"]][unit["span_start"] : unit["span_end"]]
            assert piece
            assert unit["show_text"][unit["header_chars"] :] == piece
            assert unit["key_text"] == unit["show_text"]

    return check


# Signs that other chunkers stumbled over: a family joined by zero-width joiners, a combining accent, line ends, spaces
# that are no spaces, a byte order mark, right-to-left text, a tab.
ODD = ["👨‍👩‍👧", "e\u0301", "日本", "\r\n", "\u00a0", "\ufeff", "שלום", "\t", "  ", "“", "a", "b. ", "no, ", "\n", ": "]
TEXTS = st.lists(st.sampled_from(ODD), min_size=1, max_size=20).map("".join).filter(lambda text: bool(text.strip()))
SESSIONS = st.lists(
    st.tuples(
        st.sampled_from([None, "1:56 pm on 8 May, 2023"]),
        st.lists(st.tuples(st.sampled_from(["Ann", "Bo: x", "李"]), TEXTS), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="session")
def odd_talks() -> Any:
    """A strategy of small talks full of odd signs."""
    return st.lists(SESSIONS, max_size=3).map(lambda many: {f"conv-{i}": sessions for i, sessions in enumerate(many)})
