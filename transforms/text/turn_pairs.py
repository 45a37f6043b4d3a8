"""Fold messages into turns of two sides, a user's and an assistant's, as studies of two-sided chats do.

A message of the assistant's side closes its turn, so whatever follows one opens the next; messages of the user's side that
follow each other share a turn. Who the user is: where a conversation has messages of role user, they are, and all others
are the assistant's. Where it has none, the user is its first speaker (user=first), or the first of the names in
user=NAME+NAME+... that speaks in it; a third speaker is on the assistant's side, a lone one has turns of one side.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Bools, Ints
from memlake.transforms.text.canonical import ints, rank_in_run

FOLDS = ("across_sessions", "within_sessions")
FIRST = "first"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Turns of two sides; arrays of one entry a message where it says so, else one a turn.

    Attributes:
        pair: the turn that each message is folded into.
        is_user: whether each message is of the user's side.
        first: the message that opens it.
        dated: the first message of its last session: a turn that mixes sessions goes by the later.
        number: its place in the conversation, from 1.
        mixed: whether it mixes sessions.
    """

    pair: Ints
    is_user: Bools
    first: Ints
    dated: Ints
    number: Ints
    mixed: Bools

    def batches(self, count: int) -> Ints:
        """The batch of each turn: runs of `count` from the start of a conversation; one a conversation for count=0."""
        opens = (self.number - 1) % count == 0 if count else self.number == 1
        return np.cumsum(opens) - 1


def fold_turns(turns: pa.Table, *, folds: str = FOLDS[0], user: str = FIRST) -> Pairs:
    """Fold messages of whole conversations, sorted by (conversation_id, ordinal).

    Args:
        folds: across_sessions folds as if a conversation were one session; within_sessions ends a turn with its session.
        user: first, or names joined by '+'.
    """
    conversation = _conversations(turns)
    session = np.cumsum(_changes(conversation) | _changes(ints(turns["session_ordinal"])))
    is_user = user_side(turns, user)
    # False before the first message, which opens a turn anyway.
    closed = np.append(False, ~is_user[:-1])[: len(is_user)]
    opens = closed | _changes(session if folds == "within_sessions" else conversation)
    pair = np.cumsum(opens) - 1
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(pair))[: len(first)] - 1
    begins = np.flatnonzero(_changes(session))
    dated = np.maximum(first, begins[np.searchsorted(begins, last, side="right") - 1]) if len(first) else first
    return Pairs(pair, is_user, first, dated, rank_in_run(conversation[first]) + 1, session[first] != session[last])


def user_side(turns: pa.Table, user: str = FIRST) -> Bools:
    """Whether each message of whole conversations, sorted, is of the user's side."""
    if not turns.num_rows:
        return np.zeros(0, np.bool_)
    conversation = _conversations(turns)
    begins = np.flatnonzero(_changes(conversation))
    by_role = pc.equal(turns["role"], "user").to_numpy()
    has_role = np.maximum.reduceat(by_role, begins)
    speakers = turns["speaker"].combine_chunks().dictionary_encode()
    speaker = ints(speakers.indices)
    asker = speaker[begins]
    known = speakers.dictionary.to_pylist()
    # From the last name to the first, so that the first that speaks in a conversation counts.
    for name in reversed(user.split("+") if user != FIRST else []):
        if name in known:
            code = known.index(name)
            speaks = np.maximum.reduceat(speaker == code, begins)
            asker = np.where(speaks, code, asker)
    return np.where(has_role[conversation], by_role, speaker == asker[conversation])


def _conversations(turns: pa.Table) -> Ints:
    """The conversation of each message, counted from 0."""
    return np.cumsum(_changes(ints(turns["conversation_id"].combine_chunks().dictionary_encode().indices))) - 1


def _changes(values: npt.NDArray[Any]) -> Bools:
    """Whether each entry differs from the one before; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]
