"""Turn objects of memlake's own JSONL to columns: one comprehension a field, a loop only over what is odd."""

from typing import Any

from memlake.transforms.base.conversation import Conversation, Session
from memlake.transforms.read.common.arrange import KIND_OF_ROLE, KINDS, ROLES, Columns
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.text.clean import as_name, content_elsewhere
from memlake.transforms.text.dates import label_of, parse_time

_NONE = type(None)
# Where other layouts keep what is said.
_ELSEWHERE = ("turns", "messages", "content")


def columns_of(turns: list[Any], draft: Draft) -> Columns:
    """Columns of the turns that can be stored, in the order given; letters have the place of their turn as position."""
    places = range(len(turns))
    if not _plain(turns):
        places_kept = [place for place in places if _storable(turns[place], place, draft)]
        turns, places = [turns[place] for place in places_kept], places_kept  # type: ignore[assignment]
        draft.position = None
    text = [turn["text"] for turn in turns]
    given = _names(turns, "role")
    role = [ROLES.get(name, "participant") if name else "participant" for name in given]
    speaker = [name or other or "unknown" for name, other in zip(_names(turns, "speaker"), given, strict=True)]
    kind = [turn.get("kind") or KIND_OF_ROLE.get(part, "message") for turn, part in zip(turns, role, strict=True)]
    said = [turn.get("said_at") for turn in turns]
    said_at, said_zone = _times(said)
    session_at, session_zone, label = _dates([turn.get("session_at") for turn in turns])
    if said.count(None) < said_at.count(None):
        for place, value, at in zip(places, said, said_at, strict=True):
            if value is not None and at is None:
                draft.position = place
                error = f"said_at={value!r:.60} of turn {place} of {draft} is no date that can be read"
                draft.report("broken_date", error, outcome="kept")
        draft.position = None
    # The zone of a turn is known when every time that it gives names one.
    zone = session_zone
    if said_at.count(None) < len(said_at):
        zone = [
            (a or s is None) and (b or t is None) and not (s is None and t is None)
            for a, b, s, t in zip(said_zone, session_zone, said_at, session_at, strict=True)
        ]
    return Columns(
        text=text, speaker=speaker, role=role, kind=kind, source_chars=list(map(len, text)),
        turn_id=_names(turns, "turn_id"), said_at=said_at, session_id=_names(turns, "session_id"),
        session_label=label, session_at=session_at, zone=zone,
    )  # fmt: skip


def partial(draft: Draft, conversation_id: str, position: int) -> Conversation:
    """A partial conversation: turns as they stand in the source, ids only where the source gives them."""
    columns = draft.columns
    keys = list(zip(columns.session_id, columns.session_label, columns.session_at, columns.zone, strict=True))
    index: dict[tuple[str | None, str | None, int | None, bool], int] = {}
    session = [index.setdefault(key, len(index)) for key in keys]
    return Conversation(
        conversation_id, draft.uri, draft.format_name,
        [Session(name or "", label, at, zone) for name, label, at, zone in index],
        session, [name or "" for name in columns.turn_id], columns.speaker, columns.role, columns.kind, columns.text,
        columns.source_chars, columns.said_at, position=position,
    )  # fmt: skip


def _plain(turns: list[Any]) -> bool:
    """Whether every turn can be stored as it stands."""
    try:
        texts = [turn["text"] for turn in turns]
        kinds = {turn.get("kind") for turn in turns}
    except (TypeError, KeyError, AttributeError, IndexError):
        return False
    return set(map(type, texts)) <= {str} and not any(not t or t.isspace() for t in texts) and kinds <= {None, *KINDS}


def _storable(turn: Any, place: int, draft: Draft) -> bool:
    what = f"turn {place} of {draft}"
    draft.position = place
    if not draft.is_object(turn, what):
        return False
    if turn.get("text") is None and (held := content_elsewhere(turn, _ELSEWHERE)):
        draft.report("malformed_record", f"{what} has no text, it has {held}={turn[held]!r:.60}")
        return False
    if not draft.is_text(turn.get("text"), what):
        return False
    kind = turn.get("kind")
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        draft.report("unknown_kind", f"kind={kind!r:.60} of {what} is not one of {', '.join(sorted(KINDS))}")
        return False
    return True


def _names(turns: list[Any], key: str) -> list[str | None]:
    values = [turn.get(key) for turn in turns]
    if set(map(type, values)) <= {str, _NONE}:
        blank = [value for value in set(values) if value is not None and (not value or value.isspace())]
        return [None if value in blank else value for value in values] if blank else values
    return list(map(as_name, values))


def _times(values: list[Any]) -> tuple[list[int | None], list[bool]]:
    if set(map(type, values)) <= {_NONE}:
        return values, [False] * len(values)
    parsed = [None if value is None else parse_time(value) for value in values]
    return [pair and pair[0] for pair in parsed], [bool(pair and pair[1]) for pair in parsed]


def _dates(values: list[Any]) -> tuple[list[int | None], list[bool], list[str | None]]:
    """Times, whether they name a zone, and labels; each distinct text is read once, for turns of a session share one."""
    kinds = set(map(type, values))
    if kinds <= {_NONE}:
        return values, [False] * len(values), values
    if not kinds <= {str, _NONE}:
        at, zone_known = _times(values)
        return at, zone_known, [label_of(value) for value in values]
    distinct = list(set(values))
    times, zones = (dict(zip(distinct, read, strict=True)) for read in _times(distinct))
    labels = {value: label_of(value) for value in distinct}
    return [times[value] for value in values], [zones[value] for value in values], [labels[value] for value in values]
