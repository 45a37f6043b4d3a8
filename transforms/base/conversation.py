"""What every reader yields: conversations as columns, and what could not be read as dead letters."""

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["dropped", "skipped", "kept"]
Layout = Literal["file", "conversation_lines", "turn_lines"]


@dataclass(slots=True)
class Session:
    """A session of a conversation. `label` is the date exactly as the source prints it; `at` is UTC microseconds."""

    session_id: str
    label: str | None = None
    at: int | None = None
    zone_known: bool = False


@dataclass(slots=True)
class Question:
    """A benchmark question; `question_id` is unique in a corpus: it begins with the conversation's id.

    `evidence` has (raw id, turn_id or None, status), the statuses being those of the evidence table.
    """

    question_id: str
    position: int
    text: str
    answer: str | None
    category: str
    label_set: str = "official"
    answers: list[str] = field(default_factory=list)
    evidence: list[tuple[str, str | None, str]] = field(default_factory=list)
    asked_at: int | None = None
    options: list[str] = field(default_factory=list)
    answerable: bool = True
    attributes: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class SuppliedUnit:
    """A memory item that the source brought along; `session` indexes sessions, turn ids are its provenance."""

    representation: str
    kind: str
    text: str
    session: int | None
    turn_ids: list[str]
    speaker: str | None = None
    attributes: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class DeadLetter:
    """Something that could not be processed as it stood; `position` is a line (from 1) or an item (from 0).

    `payload` is the thing itself where it stands nowhere else, such as a model's raw reply.
    """

    reason: str
    error: str
    source_uri: str
    position: int | None = None
    scope: str = "turn"
    outcome: Outcome = "dropped"
    stage: str = "read"
    payload: str | None = None


@dataclass(slots=True)
class Conversation:
    """A conversation, its turns as parallel lists (one entry a turn, in order).

    `session` indexes `sessions` and never decreases; `said_at` is UTC microseconds or None; `source_chars` counts the
    leading code points of `text` that are the source's own. Texts hold no lone surrogate and are never blank. `position`
    is the byte where the block of lines begins that it stands in; 0 in formats of whole files.

    Readers of layout 'turn_lines' yield *partial* conversations, several for one conversation_id, each with the turns of
    some 8 MiB of input: in source order (so `session` may decrease), `position` says where in the source they stand,
    turn_id and session_id are '' where the source gives none, and no session is dated by guess. `gather` makes whole
    conversations of them.
    """

    conversation_id: str
    source_uri: str
    format: str
    sessions: list[Session] = field(default_factory=list)
    session: list[int] = field(default_factory=list)
    turn_id: list[str] = field(default_factory=list)
    speaker: list[str] = field(default_factory=list)
    role: list[str] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    source_chars: list[int] = field(default_factory=list)
    said_at: list[int | None] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    supplied: list[SuppliedUnit] = field(default_factory=list)
    position: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a byte range of a file of lines: lines that start in [start, end); without an `end` all that come."""

    uri: str
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user can say about a source."""

    corrections: str | None = None
