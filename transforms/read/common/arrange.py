"""From turns as a source gives them to a whole conversation: order, sessions, ids, gold turns, what was dropped on the way."""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question, Session
from memlake.transforms.text.clean import as_name, listed
from memlake.transforms.text.dates import iso_minutes

KINDS = frozenset({"message", "tool_call", "tool_result", "system"})
ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "system": "system",
    "developer": "system", "tool": "tool", "function": "tool", "participant": "participant",
}  # fmt: skip
KIND_OF_ROLE = {"tool": "tool_result", "system": "system"}


@dataclass(slots=True)
class Columns:
    """Turns in source order, one entry a turn in each list; None where the source says nothing.

    `zone` says whether the times of the turn (its own and its session's) name a zone; it means nothing without a time.
    """

    text: list[str] = field(default_factory=list)
    speaker: list[str] = field(default_factory=list)
    role: list[str] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    source_chars: list[int] = field(default_factory=list)
    turn_id: list[str | None] = field(default_factory=list)
    said_at: list[int | None] = field(default_factory=list)
    session_id: list[str | None] = field(default_factory=list)
    session_label: list[str | None] = field(default_factory=list)
    session_at: list[int | None] = field(default_factory=list)
    zone: list[bool] = field(default_factory=list)

    def take(self, order: list[int]) -> "Columns":
        """The turns at these places, in this order."""
        return Columns(*([column[i] for i in order] for column in self.lists()))

    def lists(self) -> list[list[Any]]:
        """The columns, in the order of the fields."""
        return [getattr(self, name) for name in _NAMES]

    def add(
        self,
        text: str,
        *,
        speaker: str,
        role: str,
        kind: str = "message",
        source_chars: int | None = None,
        turn_id: str | None = None,
        session: Session | None = None,
    ) -> None:
        """Append one turn without a time of its own."""
        self.text.append(text)
        self.speaker.append(speaker)
        self.role.append(role)
        self.kind.append(kind)
        self.source_chars.append(len(text) if source_chars is None else source_chars)
        self.turn_id.append(turn_id)
        self.said_at.append(None)
        self.session_id.append(session.session_id if session else None)
        self.session_label.append(session.label if session else None)
        self.session_at.append(session.at if session else None)
        self.zone.append(session.zone_known if session else False)


_NAMES = [item.name for item in fields(Columns)]


def arrange(
    columns: Columns, conversation_id: str, source_uri: str, format_name: str, position: int | None = None
) -> tuple[Conversation, list[DeadLetter]]:
    """Make a conversation of its turns.

    Order is by time where every turn has one, else as given; stable. Sessions follow each other as they first appear,
    and the turns of one stand together. A turn that equals another one of the same id is left out (`duplicate_turn`);
    another turn under a taken id is kept under a new one (`repeated_turn_id`). A turn without an id is named by its
    ordinal. A session without a date of its own takes the time of its earliest turn; a named session for which there
    is none stays undated (`undated_session`).
    """
    letters: list[DeadLetter] = []
    times = columns.said_at
    if None not in times and times != sorted(times):  # type: ignore[type-var]
        columns = columns.take(sorted(range(len(times)), key=times.__getitem__))  # type: ignore[arg-type]
    if len(set(columns.turn_id) - {None}) < len(columns.turn_id) - columns.turn_id.count(None):
        columns = _without_repeats(columns, conversation_id, source_uri, position, letters)
    columns, session = _by_session(columns)
    sessions = _sessions(columns, session, conversation_id, source_uri, position, letters)
    conversation = Conversation(
        conversation_id, source_uri, format_name, sessions, session, _turn_ids(columns.turn_id), columns.speaker,
        columns.role, columns.kind, columns.text, columns.source_chars, columns.said_at,
    )  # fmt: skip
    return conversation, letters


def unique_ids(ids: list[str]) -> list[str]:
    """The ids with every later holder of a taken one renamed 'ID~2', 'ID~3', ..."""
    if len(set(ids)) == len(ids):
        return ids
    taken, seen, unique = set(ids), set[str](), []
    for name in ids:
        number, chosen = 2, name
        while chosen in seen or (chosen != name and chosen in taken):
            chosen, number = f"{name}~{number}", number + 1
        seen.add(chosen)
        unique.append(chosen)
    return unique


def qualify(questions: list[Question], names: list[str], conversation_id: str) -> None:
    """Name each question CONVERSATION_ID:NAME; the part after the last ':' is its id in the conversation, so none clash."""
    unique = unique_ids([name.replace(":", "%3A") for name in names])
    for question, name in zip(questions, unique, strict=True):
        question.question_id = f"{conversation_id}:{name}"


def _turn_ids(given: list[str | None]) -> list[str]:
    if not any(given):
        return list(map(str, range(len(given))))
    if None not in given:
        return unique_ids(given)  # type: ignore[arg-type]
    # A given id keeps its name even where it looks like another turn's ordinal.
    taken, ids = {name for name in given if name is not None}, []
    for ordinal, name in enumerate(given):
        chosen = str(ordinal) if name is None else name
        while name is None and chosen in taken:
            chosen += "~2"
        ids.append(chosen)
    return unique_ids(ids)


def _without_repeats(
    columns: Columns, conversation_id: str, uri: str, position: int | None, letters: list[DeadLetter]
) -> Columns:
    rows = list(zip(*columns.lists(), strict=True))
    seen: set[tuple[object, ...]] = set()
    names: set[str] = set()
    keep = []
    for index, (row, name) in enumerate(zip(rows, columns.turn_id, strict=True)):
        what = f"turn_id={name!r} of conversation {conversation_id!r}"
        if name is not None and row in seen:
            error = f"{what} occurs again with equal content (place {index})"
            letters.append(DeadLetter("duplicate_turn", error, uri, position, outcome="skipped"))
            continue
        if name is not None and name in names:
            error = f"{what} occurs again with other content (place {index}): kept under a new id"
            letters.append(DeadLetter("repeated_turn_id", error, uri, position, outcome="kept"))
        seen.add(row)
        names.add(name or "")
        keep.append(index)
    return columns.take(keep)


def _by_session(columns: Columns) -> tuple[Columns, list[int]]:
    """Number the sessions by first appearance and bring each one's turns together."""
    keys: list[object] = list(columns.session_id)
    if None in columns.session_id:
        if not any(columns.session_id) and not any(columns.session_label):
            return columns, [0] * len(columns.text)
        # Where a session has a date and no id, the date tells it from the others.
        named = zip(columns.session_id, columns.session_label, columns.session_at, strict=True)
        keys = [(None, label, at) if name is None else name for name, label, at in named]
    index: dict[object, int] = {}
    session = [index.setdefault(key, len(index)) for key in keys]
    if session == sorted(session):
        return columns, session
    order = sorted(range(len(session)), key=session.__getitem__)
    return columns.take(order), sorted(session)


def _sessions(
    columns: Columns,
    session: list[int],
    conversation_id: str,
    uri: str,
    position: int | None,
    letters: list[DeadLetter],
) -> list[Session]:
    """The sessions with their dates; a named one without any is reported."""
    if not session:
        return []
    starts = [bisect_left(session, number) for number in range(session[-1] + 1)]
    taken = set(columns.session_id)
    sessions = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(session)], strict=True)):
        name = columns.session_id[start]
        chosen = name or f"s{number}"
        while name is None and chosen in taken:
            chosen += "~2"
        made = Session(chosen)
        _date_session(made, columns, slice(start, end))
        if name is not None and made.at is None:
            says = "no date" if made.label is None else f"date={made.label!r}, which cannot be read"
            error = f"session {name!r} of conversation {conversation_id!r} has {says}"
            letters.append(DeadLetter("undated_session", error, uri, position, "session", "kept"))
        sessions.append(made)
    return sessions


def _date_session(made: Session, columns: Columns, of: slice) -> None:
    """Date a session by its turns: where they disagree its earliest date counts, without one the earliest turn's time."""
    dates = set(zip(columns.session_at[of], columns.session_label[of], columns.zone[of], strict=True))
    dated = [(at, label or "", zone) for at, label, zone in dates if at is not None]
    times = [(at, zone) for at, zone in set(zip(columns.said_at[of], columns.zone[of], strict=True)) if at is not None]
    if dated:
        made.at, label, _ = min(dated)
        made.label = label or None
        made.zone_known = all(zone for *_, zone in dated) and all(zone for _, zone in times)
    elif times:
        made.at = min(times)[0]
        made.zone_known = all(zone for _, zone in times)
        made.label = iso_minutes(made.at, made.zone_known)
    else:
        # A date that could not be read is still shown as the source prints it.
        made.label = min((label for _, label, _ in dates if label), default=None)


Evidence = list[tuple[str, str | None, str]]


def evidence_of(named: Iterable[tuple[str, str | None, str]], turns: Collection[str]) -> Evidence:
    """Pair each id with the turn that it names.

    Statuses are those of the evidence table: a turn that an earlier id named is a duplicate, an id of no turn is dangling,
    what is no id malformed.

    Args:
        named: each id as the source has it, the turn that it names (None for what is no id) and its status where there is
            such a turn.
        turns: the ids of the conversation's turns.
    """
    evidence: Evidence = []
    used: set[str] = set()
    for raw, name, status in named:
        if name is None:
            evidence.append((raw, None, "malformed"))
        elif name not in turns:
            evidence.append((raw, None, "dangling"))
        else:
            evidence.append((raw, name, "duplicate" if name in used else status))
            used.add(name)
    return evidence


def gold_of(given: object, turns: Collection[str]) -> Evidence:
    """The evidence of a list of turn ids, or of one; ids that stand in a list of their own inside it are normalised."""
    return evidence_of(_named(given), turns)


def raw_id(value: object) -> str:
    """An id as it stands in the source: a text as it is, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _named(given: object) -> Iterator[tuple[str, str | None, str]]:
    for item in listed(given):
        inner = item if isinstance(item, list) else []
        for single in inner or [item]:
            yield raw_id(item), as_name(single), "normalised" if inner else "valid"
