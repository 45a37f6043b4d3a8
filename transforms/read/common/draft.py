"""A conversation while it is read: its turns so far, and a dead letter for whatever is not stored as it stands."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from memlake.transforms.base.conversation import Conversation, DeadLetter, Outcome, Session
from memlake.transforms.read.common.arrange import ROLES, Columns, arrange
from memlake.transforms.text.clean import as_answer, as_name, text_fault
from memlake.transforms.text.dates import parse_time


@dataclass(slots=True)
class Letters:
    """Dead letters about one place of a source, in the order in which they were written."""

    uri: str
    position: int | None = None
    letters: list[DeadLetter] = field(default_factory=list)

    def report(
        self, reason: str, error: str, scope: str = "turn", outcome: Outcome = "dropped", payload: str | None = None
    ) -> None:
        """Write a dead letter."""
        self.letters.append(DeadLetter(reason, error, self.uri, self.position, scope, outcome, payload=payload))

    def is_object(self, value: object, what: str, scope: str = "turn") -> TypeGuard[dict[str, Any]]:
        """Whether it is an object; reported when it is none."""
        if isinstance(value, dict):
            return True
        self.report("malformed_record", f"{what} is {type(value).__name__}, an object is expected", scope)
        return False

    def is_text(self, value: object, what: str, scope: str = "turn") -> TypeGuard[str]:
        """Whether it is a text to store; reported when it is none. A wrong type loses content, so it is dropped."""
        reason = text_fault(value)
        if reason == "malformed_record":
            self.report(reason, f"text of {what} is {type(value).__name__}, a string is expected", scope)
        elif reason is not None:
            error = f"text of {what} is {'null or absent' if reason == 'null_text' else 'empty or blank'}"
            self.report(reason, error, scope, "skipped")
        return reason is None

    def check_time(self, time: object, what: str, scope: str = "turn") -> None:
        """Report a time that is given and cannot be read; what it dates is kept."""
        if time is not None and parse_time(time) is None:
            error = f"time={as_answer(time)!r:.60} of {what} is no date that can be read"
            self.report("broken_date", error, scope, "kept")


@dataclass(slots=True)
class Draft(Letters):
    """A conversation that is being read from one place of a source; `name` is its place there until it has a name."""

    format_name: str = field(kw_only=True)
    name: str | int | None = field(kw_only=True)
    columns: Columns = field(default_factory=Columns)

    def __str__(self) -> str:
        return f"conversation {self.name!r}"

    def add_message(self, text: str, role: object, *, turn_id: str | None, session: Session) -> None:
        """Append one turn of a chat, whose speaker is the role as the source writes it."""
        speaker = as_name(role) or "unknown"
        self.columns.add(
            text, speaker=speaker, role=ROLES.get(speaker, "participant"), turn_id=turn_id, session=session
        )

    def finish(self) -> Conversation | None:
        """The conversation of the turns so far, arranged; None, and a letter, where there is no turn."""
        if self.columns.text:
            return self.arrange()
        self.report("empty_conversation", f"{self} has no turn to store", "conversation", "skipped")
        return None

    def arrange(self) -> Conversation:
        """The conversation of the turns so far, arranged, with a letter for whatever was dropped on the way."""
        made, letters = arrange(self.columns, str(self.name), self.uri, self.format_name, self.position)
        self.letters += letters
        return made

    def items(self, conversation: Conversation | None) -> Iterator[Conversation | DeadLetter]:
        """What a reader yields of it: the letters, then the conversation, if there is one."""
        yield from self.letters
        if conversation is not None:
            yield conversation
