r"""memlake's own JSONL, in two layouts. Files are UTF-8 (a BOM is accepted); lines end with '\n'; blank lines are skipped.

**One turn a line** (`memlake-turns`); turns of a conversation may stand anywhere in any number of files:

    {"conversation_id": "c1", "text": "Hello.", "session_id": "mon", "session_at": "2024-05-06 09:00", "turn_id": "t1",
     "speaker": "Ana", "role": "user", "kind": "message", "said_at": "2024-05-06T09:00:12Z"}

**One conversation a line** (`memlake-conversations`), with its own questions and units where there are any:

    {"conversation_id": "c1",
     "turns": [{"text": "Hello.", "turn_id": "t1", ...}],
     "questions": [{"question_id": "q1", "text": "Who says hello?", "answer": "Ana", "answers": ["Ana", "ana"],
                    "category": "who", "evidence": ["t1"], "asked_at": "2024-06-01", "answerable": true,
                    "options": [], "label_set": "official"}],
     "units": [{"representation": "my-notes", "text": "Ana greets.", "turn_ids": ["t1"], "kind": "note",
                "speaker": "Ana"}]}

Fields of a turn; all but `conversation_id` and `text` are optional:

- `text`: the message, stored exactly. Null, absent, empty and blank ones are skipped and reported. A line of another
  layout (`turns`, `messages` or `content`, and no `text`) is dropped and reported, since it does say something.
- `session_id`: the sitting; without it the turns of one `session_at` are one session, and those without either another.
- `session_at`, `said_at`: ISO 8601, seconds or milliseconds since 1970, or one of the printed forms in dates.py. A date
  that cannot be read is null and reported. A clock without a zone is read as UTC and marked.
- `turn_id`: names the turn in `evidence` and `turn_ids`. Without it, a turn is named by its place in the conversation as
  it lands, from "0".
- `role`: user, assistant, system, tool or participant (default; any other word is read as participant).
- `speaker`: as it shall be shown; defaults to the role, or 'unknown' where neither is given.
- `kind`: message, tool_call, tool_result or system; by default the role decides. Other kinds are dropped and reported.

Turns are ordered by `said_at` where every turn of the conversation has one, else they stay in the order given. Ids may be
numbers; they are stored as text.

A question is stored as CONVERSATION_ID:QUESTION_ID, without an id as CONVERSATION_ID:qPOSITION, from 0; so its id need
only be unique in its conversation. A ':' in it becomes %3A, so that the last ':' ends the conversation's id; one that
is taken becomes ID~2, ID~3, ... The id as given is the attribute `source_id`. One id under two label sets is one
question and must have one text, else the later is dropped (`conflicting_question`). `label_set` (default 'official')
must be a name and `answerable` (default true) a JSON boolean, else the question is dropped (`malformed_question`); null
is the same as absent.
"""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Session, Source
from memlake.transforms.read.common.arrange import KIND_OF_ROLE, KINDS, ROLES, Columns
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_lines import each_line, read_objects
from memlake.transforms.read.common.reader import Reader
from memlake.transforms.read.formats.memlake_jsonl.extras import questions_of, units_of
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


def _conversation(record: dict[str, Any], uri: str) -> Iterator[Conversation | DeadLetter]:
    conversation_id, turns = as_name(record.get("conversation_id")), record.get("turns")
    if conversation_id is None or not isinstance(turns, list):
        lacks = "a list of turns" if conversation_id is not None else "conversation_id"
        error = f"a line without {lacks}: it has {', '.join(record)!r:.100}"
        yield DeadLetter("malformed_record", error, uri, None, "conversation")
        return
    draft = Draft(uri, format_name=CONVERSATIONS.name, name=conversation_id)
    draft.columns = columns_of(turns, draft)
    # Questions and units are looked at even where no turn is left: what is wrong with them is reported too.
    made = draft.arrange()
    if record.get("questions"):
        made.questions = questions_of(record["questions"], made, draft)
    if record.get("units"):
        made.supplied = units_of(record["units"], made, draft)
    yield from draft.items(made if made.text else draft.finish())


CONVERSATIONS = Reader(
    name="memlake-conversations",
    revision=1,
    layout="conversation_lines",
    read=each_line(_conversation),
    lines=({"conversation_id": ..., "turns": []},),
)


def _read_turns(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
    """Yield partial conversations (see Conversation), one for each conversation in some 8 MiB of input."""
    for batch in read_objects(source, scope="turn"):
        yield from batch.letters
        groups: dict[str, tuple[list[Any], list[int]]] = {}
        for record, index in zip(batch.objects, batch.indices, strict=True):
            conversation_id = as_name(record.get("conversation_id"))
            if conversation_id is None:
                error = f"a turn without conversation_id={record.get('conversation_id')!r:.100}"
                yield DeadLetter("malformed_record", error, source.uri, batch.numbers.of(index))
                continue
            turns, indices = groups.setdefault(conversation_id, ([], []))
            turns.append(record)
            indices.append(index)
        for conversation_id, (turns, indices) in groups.items():
            draft = Draft(source.uri, format_name=TURNS.name, name=conversation_id)
            draft.columns = columns_of(turns, draft)
            for letter in draft.letters:
                letter.position = batch.numbers.of(indices[letter.position or 0])
            yield from draft.items(partial(draft, conversation_id, batch.offset) if draft.columns.text else None)


TURNS = Reader(
    name="memlake-turns",
    revision=1,
    layout="turn_lines",
    read=_read_turns,
    lines=({"conversation_id": ..., "text": ..., "turns": None, "representation": None},),
)
