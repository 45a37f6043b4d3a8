"""LoCoMo: long conversations of two people in dated sessions, with questions, gold turns and extracted units.

Two layouts. Official: a list of {sample_id, conversation {speaker_a, speaker_b, session_N, session_N_date_time}, qa,
observation, session_summary, event_summary}. Older, one file a conversation: the same things as top-level keys
session_N, session_N_date_time, session_N_observation, session_N_summary, events_session_N and qa, no sample_id, so that
the conversation's id is derived from its turns.

Sessions are those that have turns: some files date sessions that do not exist. A turn's image is kept as its caption,
appended as ` [shares CAPTION]`, for part of the gold answers stand only there.
"""

import re
from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Layout, ReadOptions, Session, Source
from memlake.transforms.read.common.arrange import Columns, arrange
from memlake.transforms.read.common.column_hash import column_hash
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.peek import first_item, whole_of
from memlake.transforms.read.formats.locomo.corrections import Corrections, load_corrections
from memlake.transforms.read.formats.locomo.questions import questions_of
from memlake.transforms.read.formats.locomo.units import units_of
from memlake.transforms.text.clean import as_name, text_fault, text_letter
from memlake.transforms.text.dates import label_of, parse_time

_SESSION = re.compile(r"session_(\d+)", re.ASCII)


class LoCoMo:
    """Both layouts of LoCoMo."""

    name = "locomo"
    revision = 1
    layout: Layout = "file"

    def sniff(self, head: bytes) -> bool:
        """Whether it is a list of conversations with `qa` or numbered sessions, or one such conversation."""
        first, whole = first_item(head), whole_of(head)
        if isinstance(whole, dict):
            return _has_sessions(whole) or _has_sessions(whole.get("conversation"))
        asked = first.get("qa")
        if isinstance(asked, list) and asked and isinstance(asked[0], dict):
            return "question" in asked[0] and ("evidence" in asked[0] or "category" in asked[0])
        return _has_sessions(first.get("conversation")) or ("sample_id" in first and "conversation" in first)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:
        """Yield each conversation with its questions, under both label sets where corrections are given.

        Corrections name a conversation by its place in the official list, so a file that is no list gets a dead letter
        and official labels alone.

        Raises:
            UsageError: the corrections cannot be read.
        """
        corrections = load_corrections(options.corrections) if options.corrections else None
        for item in read_items(source.uri):
            if isinstance(item, DeadLetter):
                yield item
                continue
            if corrections is not None and item.index is None:
                error = "corrections name conversations by their place in a list, and this file is one conversation"
                yield DeadLetter("corrections_not_applied", error, source.uri, None, "file", "kept")
                corrections = None
            yield from self._conversation(item.value, item.index, source.uri, corrections)

    def _conversation(
        self, record: object, index: int | None, uri: str, corrections: Corrections | None
    ) -> Iterator[Conversation | DeadLetter]:
        if not isinstance(record, dict) or not isinstance(record.get("conversation", record), dict):
            error = f"a conversation is {type(record).__name__}, an object with 'conversation' or session_N is expected"
            yield DeadLetter("malformed_record", error, uri, index, "conversation")
            return
        parts = _parts_of(record)
        name = as_name(record.get("sample_id"))
        columns, letters = _turns(parts["sessions"], parts["dates"], uri, index, name)
        if not columns.text:
            yield from letters
            error = f"conversation {name or index!r} has no turn to store"
            yield DeadLetter("empty_conversation", error, uri, index, "conversation", "skipped")
            return
        name = name or _content_id(columns)
        made, more = arrange(columns, name, uri, self.name, index)
        letters += more
        made.questions, more = questions_of(parts["qa"], made, index, corrections)
        letters += more
        made.supplied, more = units_of(parts, made, index)
        yield from [*letters, *more]
        yield made


READER = LoCoMo()


def _has_sessions(value: object) -> bool:
    return isinstance(value, dict) and (
        ("speaker_a" in value and "speaker_b" in value) or any(isinstance(value.get(key), list) for key in _keys(value))
    )


def _keys(value: dict[str, Any]) -> list[str]:
    return sorted((key for key in value if _SESSION.fullmatch(key)), key=lambda key: int(key.rpartition("_")[2]))


def _parts_of(record: dict[str, Any]) -> dict[str, Any]:
    """The same parts of either layout: sessions, dates, observations, summaries and events by session key; qa."""
    older = "conversation" not in record
    talk = record if older else record["conversation"]
    sessions = {key: talk[key] for key in _keys(talk) if isinstance(talk[key], list)}

    def part(name: str, pattern: str) -> dict[str, Any]:
        held = record if older else record.get(name)
        held = held if isinstance(held, dict) else {}
        numbered = re.compile(pattern.replace("N", r"(\d+)"), re.ASCII)
        return {f"session_{match[1]}": held[key] for key in held if (match := numbered.fullmatch(key))}

    return {
        "sessions": sessions,
        "dates": {key: talk.get(f"{key}_date_time") for key in sessions},
        "qa": record.get("qa") if isinstance(record.get("qa"), list) else [],
        "observations": part("observation", "session_N_observation"),
        "session_summaries": part("session_summary", "session_N_summary"),
        "event_summaries": part("event_summary", "events_session_N"),
    }


def _turns(
    sessions: dict[str, Any], dates: dict[str, Any], uri: str, index: int | None, name: str | None
) -> tuple[Columns, list[DeadLetter]]:
    columns, letters = Columns(), list[DeadLetter]()
    for key, turns in sessions.items():
        moment = parse_time(dates[key])
        at, zone_known = moment or (None, False)
        session = Session(key, label_of(dates[key]), at, zone_known)
        for place, turn in enumerate(turns):
            what = f"turn {place} of {key} of conversation {name or index!r}"
            if not isinstance(turn, dict):
                error = f"{what} is {type(turn).__name__}, an object is expected"
                letters.append(DeadLetter("malformed_record", error, uri, index))
                continue
            text, own = turn.get("text"), text_fault(turn.get("text"))
            caption = turn.get("blip_caption")
            shared = f" [shares {caption}]" if text_fault(caption) is None else ""
            if own == "malformed_record" or (own and not shared):
                letters += filter(None, [text_letter(text, what, uri, index)])
                continue
            speaker = as_name(turn.get("speaker")) or "unknown"
            words = text or ""
            columns.add(
                words + shared,
                speaker=speaker,
                role="participant",
                source_chars=len(words),
                turn_id=as_name(turn.get("dia_id")),
                session=session,
            )
    return columns, letters


def _content_id(columns: Columns) -> str:
    named = [[name or "" for name in column] for column in (columns.session_id, columns.turn_id)]
    return column_hash("locomo", (*named, columns.speaker, columns.text))
