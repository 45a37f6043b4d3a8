"""Units that LoCoMo brings along, extracted by a model: observations with their turns, summaries and events by session."""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, SuppliedUnit
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.formats.locomo.questions import gold_of
from memlake.transforms.text.clean import text_fault

# A unit without its session and turns yet, the key of that session, and the turns that it cites: None for all of them.
_Given = tuple[SuppliedUnit, str, object]


def units_of(parts: dict[str, Any], conversation: Conversation, draft: Draft) -> list[SuppliedUnit]:
    """The units of a conversation; a summary or an event comes from every turn of its session."""
    turns = set(conversation.turn_id)
    sessions = {session.session_id: number for number, session in enumerate(conversation.sessions)}
    of_session: dict[int, list[str]] = {number: [] for number in sessions.values()}
    for turn_id, number in zip(conversation.turn_id, conversation.session, strict=True):
        of_session[number].append(turn_id)
    units = []
    for unit, key, cited in _given(parts):
        what = f"{unit.kind} of {key} of {draft}"
        if key not in sessions:
            # Some files carry summaries of sessions that they do not have; blank ones are nothing to report.
            if text_fault(unit.text) is None:
                error = f"{what} belongs to no session with turns: {unit.text!r:.60}"
                draft.report("dangling_session", error, "unit")
        elif draft.is_text(unit.text, what, "unit"):
            unit.session = sessions[key]
            unit.turn_ids = of_session[unit.session] if cited is None else _cited(cited, turns, what, draft)
            units.append(unit)
    return units


def _given(parts: dict[str, Any]) -> Iterator[_Given]:
    for key, by_speaker in parts["observations"].items():
        for speaker, sentences in _mapping(by_speaker):
            for entry in sentences if isinstance(sentences, list) else []:
                sentence, cited = (entry[0], entry[1]) if isinstance(entry, list) and len(entry) > 1 else (entry, [])
                yield SuppliedUnit("observations", "observation", sentence, None, [], speaker), key, cited
    for key, summary in parts["session_summaries"].items():
        yield SuppliedUnit("session_summaries", "summary", summary, None, []), key, None
    for key, by_speaker in parts["event_summaries"].items():
        date = by_speaker.get("date") if isinstance(by_speaker, dict) else None
        attributes: dict[str, object] = {} if date is None else {"date": date}
        for speaker, events in _mapping(by_speaker):
            for event in (events if isinstance(events, list) else [events]) if speaker != "date" else []:
                yield SuppliedUnit("event_summaries", "event", event, None, [], speaker, attributes), key, None


def _mapping(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _cited(cited: object, turns: set[str], what: str, draft: Draft) -> list[str]:
    found = gold_of(cited, turns)
    if missing := [raw for raw, turn_id, _ in found if turn_id is None]:
        draft.report("dangling_turn", f"turn_ids={missing!r:.100} of {what} name no turn", "unit", "kept")
    return list(dict.fromkeys(turn_id for _, turn_id, _ in found if turn_id is not None))
