"""MemBench's steps: a message, or an exchange in a session, with the turns that it became."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memlake.transforms.base.conversation import Session
from memlake.transforms.read.common.arrange import Evidence, evidence_of, raw_id
from memlake.transforms.read.common.dated_messages import add_said, day_of
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.text.clean import as_name, listed

# Where each role speaks; the first key that is there counts.
_SAID = {"user": ("user_message", "user", "message"), "assistant": ("assistant_message", "assistant", "agent")}
# Flat steps are of this session in target_step_id, whose second number is the session.
_FLAT = "0"


@dataclass(slots=True)
class Steps:
    """The turns that each (session, step) of a draft became."""

    draft: Draft
    turns: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add_all(self, messages: list[Any]) -> None:
        """Add the steps of a message_list in the source's order, flat, nested or both."""
        nested = 0
        for place, item in enumerate(messages):
            if not isinstance(item, list):
                self._add(item, place, _FLAT, None, f"step {place} of {self.draft}")
                continue
            session = _session(nested, item)
            for number, step in enumerate(item):
                what = f"step {number} of session {nested} of {self.draft}"
                self._add(step, number, str(nested), session, what)
            nested += 1

    def gold_of(self, given: object) -> Evidence:
        """The turns of each step named: [mid, ...] or [[sid, session], ...], or one of them alone."""
        return evidence_of(self._named(given), {turn for turns in self.turns.values() for turn in turns})

    def _named(self, given: object) -> Iterator[tuple[str, str | None, str]]:
        for item in listed(given):
            parts = [as_name(part) for part in (item if isinstance(item, list) else [item, _FLAT])]
            if len(parts) != 2 or None in parts:
                yield raw_id(item), None, "malformed"
                continue
            step, session = parts
            # No turn has an empty id, so a step that became no turn is dangling.
            for turn in self.turns.get((str(session), str(step)), [""]):
                yield raw_id(item), turn, "valid"

    def _add(self, step: Any, place: int, number: str, session: Session | None, what: str) -> None:
        draft = self.draft
        step = {"message": step} if isinstance(step, str) else step
        if not isinstance(step, dict):
            draft.report("malformed_record", f"{what} is {type(step).__name__}, an object or a text is expected")
            return
        name = as_name(step.get("sid")) or as_name(step.get("mid")) or str(place)
        said = {role: next((key for key in keys if key in step), None) for role, keys in _SAID.items()}
        alone = said["assistant"] is None
        draft.check_time(step.get("time"), what)
        for role, key in said.items():
            if role == "assistant" and alone:
                continue
            text = None if key is None else step[key]
            if not draft.is_text(text, f"{what}, {role}"):
                continue
            turn_id = name if alone and session is None else f"{number}:{name}:{role}"
            add_said(draft.columns, text, step.get("time"), role=role, turn_id=turn_id, session=session)
            turns = self.turns.setdefault((number, name), [])
            if turn_id not in turns:
                turns.append(turn_id)


def _session(number: int, steps: list[Any]) -> Session:
    days = [day for step in steps if isinstance(step, dict) and (day := day_of(step.get("time"))) is not None]
    first = days[0] if days else Session("")
    return Session(f"s{number}", first.label, first.at, first.zone_known)
