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

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Session, Source
from memlake.transforms.base.ids import column_hash
from memlake.transforms.read.common.arrange import Columns
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.reader import Mark, Reader
from memlake.transforms.read.formats.locomo.corrections import Corrections, load_corrections
from memlake.transforms.read.formats.locomo.questions import questions_of
from memlake.transforms.read.formats.locomo.units import units_of
from memlake.transforms.text.clean import as_name, text_fault
from memlake.transforms.text.dates import label_of, parse_time

_SESSION = re.compile(r"session_(\d+)", re.ASCII)
_TALKS: tuple[Mark, ...] = ({"speaker_a": ..., "speaker_b": ...}, {"session_[0-9]+": []})


def _read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:
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
        yield from _conversation(item.value, item.index, source.uri, corrections)


READER = Reader(
    name="locomo",
    revision=1,
    layout="file",
    read=_read,
    items=(
        {"qa": [{"question": ..., "evidence|category": ...}]},
        {"sample_id": ..., "conversation": ...},
        *({"conversation": talk} for talk in _TALKS),
    ),
    wholes=(*_TALKS, *({"conversation": talk} for talk in _TALKS)),
)


def _conversation(
    record: object, index: int | None, uri: str, corrections: Corrections | None
) -> Iterator[Conversation | DeadLetter]:
    if not isinstance(record, dict) or not isinstance(record.get("conversation", record), dict):
        error = f"a conversation is {type(record).__name__}, an object with 'conversation' or session_N is expected"
        yield DeadLetter("malformed_record", error, uri, index, "conversation")
        return
    parts = _parts_of(record)
    name = as_name(record.get("sample_id"))
    draft = Draft(uri, index, format_name=READER.name, name=name or index)
    _add_turns(parts["sessions"], parts["dates"], draft)
    if name is None and draft.columns.text:
        draft.name = _content_id(draft.columns)
    made = draft.finish()
    if made is not None:
        made.questions = questions_of(parts["qa"], made, draft, corrections)
        made.supplied = units_of(parts, made, draft)
    yield from draft.items(made)


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


def _add_turns(sessions: dict[str, Any], dates: dict[str, Any], draft: Draft) -> None:
    for key, turns in sessions.items():
        session = Session(key, label_of(dates[key]), *(parse_time(dates[key]) or (None, False)))
        for place, turn in enumerate(turns):
            what = f"turn {place} of {key} of {draft}"
            if not draft.is_object(turn, what):
                continue
            text, fault = turn.get("text"), text_fault(turn.get("text"))
            caption = turn.get("blip_caption")
            shared = f" [shares {caption}]" if text_fault(caption) is None else ""
            # What is shared is enough to store where nothing is said.
            if (fault == "malformed_record" or not shared) and not draft.is_text(text, what):
                continue
            words = text or ""
            draft.columns.add(
                words + shared,
                speaker=as_name(turn.get("speaker")) or "unknown",
                role="participant",
                source_chars=len(words),
                turn_id=as_name(turn.get("dia_id")),
                session=session,
            )


def _content_id(columns: Columns) -> str:
    named = [[name or "" for name in column] for column in (columns.session_id, columns.turn_id)]
    return column_hash(READER.name, (*named, columns.speaker, columns.text))
