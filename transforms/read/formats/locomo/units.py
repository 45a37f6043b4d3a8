"""Units that LoCoMo brings along, extracted by a model: observations with their turns, summaries and events by session."""

from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, SuppliedUnit
from memlake.transforms.read.formats.locomo.questions import evidence_of
from memlake.transforms.text.clean import text_fault, text_letter


def units_of(
    parts: dict[str, Any], conversation: Conversation, index: int | None
) -> tuple[list[SuppliedUnit], list[DeadLetter]]:
    """The units of a conversation; a summary or an event comes from every turn of its session."""
    maker = _Maker(conversation, index)
    for key, by_speaker in parts["observations"].items():
        for speaker, sentences in _mapping(by_speaker):
            for entry in sentences if isinstance(sentences, list) else []:
                sentence, cited = (entry[0], entry[1]) if isinstance(entry, list) and len(entry) > 1 else (entry, [])
                maker.add("observations", "observation", sentence, key, speaker=speaker, cited=cited)
    for key, summary in parts["session_summaries"].items():
        maker.add("session_summaries", "summary", summary, key)
    for key, by_speaker in parts["event_summaries"].items():
        date = by_speaker.get("date") if isinstance(by_speaker, dict) else None
        for speaker, events in _mapping(by_speaker):
            for event in (events if isinstance(events, list) else [events]) if speaker != "date" else []:
                attributes = {} if date is None else {"date": date}
                maker.add("event_summaries", "event", event, key, speaker=speaker, attributes=attributes)
    return maker.units, maker.letters


def _mapping(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


class _Maker:
    def __init__(self, conversation: Conversation, index: int | None) -> None:
        self.uri, self.index, self.name = conversation.source_uri, index, conversation.conversation_id
        self.units: list[SuppliedUnit] = []
        self.letters: list[DeadLetter] = []
        self.turns = set(conversation.turn_id)
        self.sessions = {session.session_id: number for number, session in enumerate(conversation.sessions)}
        self.of_session: dict[str, list[str]] = {name: [] for name in self.sessions}
        for turn_id, number in zip(conversation.turn_id, conversation.session, strict=True):
            self.of_session[conversation.sessions[number].session_id].append(turn_id)

    def add(
        self,
        representation: str,
        kind: str,
        text: Any,
        key: str,
        *,
        speaker: str | None = None,
        cited: object = None,
        attributes: dict[str, object] | None = None,
    ) -> None:
        what = f"{kind} of {key} of conversation {self.name!r}"
        if key not in self.sessions:
            # Some files carry summaries of sessions that they do not have; blank ones are nothing to report.
            if text_fault(text) is None:
                error = f"{what} belongs to no session with turns: {text!r:.60}"
                self.letters.append(DeadLetter("dangling_session", error, self.uri, self.index, "unit"))
            return
        if letter := text_letter(text, what, self.uri, self.index, "unit"):
            self.letters.append(letter)
            return
        turn_ids = self.of_session[key] if cited is None else self._cited(cited, what)
        self.units.append(
            SuppliedUnit(representation, kind, text, self.sessions[key], turn_ids, speaker, attributes or {})
        )

    def _cited(self, cited: object, what: str) -> list[str]:
        found = evidence_of(cited, self.turns)
        if missing := [raw for raw, turn_id, _ in found if turn_id is None]:
            error = f"turn_ids={missing!r:.100} of {what} name no turn"
            self.letters.append(DeadLetter("dangling_turn", error, self.uri, self.index, "unit", "kept"))
        return list(dict.fromkeys(turn_id for _, turn_id, _ in found if turn_id is not None))
