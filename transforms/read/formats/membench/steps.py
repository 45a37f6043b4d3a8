"""MemBench's steps: a message, or an exchange in a session, with the turns that it became."""

import json
from dataclasses import dataclass, field
from typing import Any

from memlake.transforms.base.conversation import DeadLetter, Session
from memlake.transforms.read.common.arrange import Columns
from memlake.transforms.read.common.dated_messages import add_said, day_of, time_letter
from memlake.transforms.read.common.gold import Evidence
from memlake.transforms.text.clean import as_name, text_letter

# Where each role speaks; the first key that is there counts.
_SAID = {"user": ("user_message", "user", "message"), "assistant": ("assistant_message", "assistant", "agent")}
# Flat steps are of this session in target_step_id, whose second number is the session.
_FLAT = "0"


@dataclass(slots=True)
class Steps:
    """The turns of a record as columns, and which turns each (session, step) became."""

    columns: Columns = field(default_factory=Columns)
    turns: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def gold_of(self, given: object) -> Evidence:
        """The turns of each step named: [mid, ...] or [[sid, session], ...], or one of them alone."""
        evidence: Evidence = []
        used: set[str] = set()
        for item in given if isinstance(given, list) else [] if given is None else [given]:
            raw = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
            parts = [as_name(part) for part in (item if isinstance(item, list) else [item, _FLAT])]
            if len(parts) != 2 or None in parts:
                evidence.append((raw, None, "malformed"))
                continue
            step, session = parts
            turns = self.turns.get((str(session), str(step)), [])
            evidence += [(raw, turn, "duplicate" if turn in used else "valid") for turn in turns]
            used.update(turns)
            if not turns:
                evidence.append((raw, None, "dangling"))
        return evidence


def steps_of(messages: list[Any], name: str, uri: str, index: int | None) -> tuple[Steps, list[DeadLetter]]:
    """The steps of a message_list in the source's order, flat, nested or both."""
    steps, letters = Steps(), list[DeadLetter]()
    nested = 0
    for place, item in enumerate(messages):
        if not isinstance(item, list):
            _add(steps, item, place, _FLAT, None, f"step {place} of conversation {name!r}", uri, index, letters)
            continue
        session = _session(nested, item)
        for number, step in enumerate(item):
            what = f"step {number} of session {nested} of conversation {name!r}"
            _add(steps, step, number, str(nested), session, what, uri, index, letters)
        nested += 1
    return steps, letters


def _add(
    steps: Steps,
    step: Any,
    place: int,
    number: str,
    session: Session | None,
    what: str,
    uri: str,
    index: int | None,
    letters: list[DeadLetter],
) -> None:
    step = {"message": step} if isinstance(step, str) else step
    if not isinstance(step, dict):
        error = f"{what} is {type(step).__name__}, an object or a text is expected"
        letters.append(DeadLetter("malformed_record", error, uri, index))
        return
    name = as_name(step.get("sid")) or as_name(step.get("mid")) or str(place)
    said = {role: next((key for key in keys if key in step), None) for role, keys in _SAID.items()}
    alone = said["assistant"] is None
    letters += filter(None, [time_letter(step.get("time"), what, uri, index)])
    for role, key in said.items():
        if role == "assistant" and alone:
            continue
        text = None if key is None else step[key]
        if letter := text_letter(text, f"{what}, {role}", uri, index):
            letters.append(letter)
            continue
        turn_id = name if alone and session is None else f"{number}:{name}:{role}"
        add_said(steps.columns, str(text), step.get("time"), role=role, turn_id=turn_id, session=session)
        held = steps.turns.setdefault((number, name), [])
        if turn_id not in held:
            held.append(turn_id)


def _session(number: int, steps: list[Any]) -> Session:
    days = [day for step in steps if isinstance(step, dict) and (day := day_of(step.get("time"))) is not None]
    first = days[0] if days else Session("")
    return Session(f"s{number}", first.label, first.at, first.zone_known)
