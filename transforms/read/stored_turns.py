"""Units for stored conversations meet the turns that the lake holds: a batch of them looks like one that was read whole."""

from dataclasses import replace
from itertools import accumulate

import pyarrow as pa

from memlake.transforms.base.batch import Batch
from memlake.transforms.base.conversation import Conversation, DeadLetter, Session
from memlake.transforms.lake.storage.parts import FORGOTTEN_PART, TURNS_PART, BaseParts, rows_by_conversation, seen
from memlake.transforms.read.formats.memlake_jsonl.extras import resolve_turns


def stored_batch(held: list[Conversation], dead: list[DeadLetter], shard: str, base_parts: BaseParts) -> Batch:
    """A batch of conversations without turns of their own, with the lake's; no turn of it lands again.

    A conversation that the lake does not hold is left out with a dead letter: there is nothing that its units could
    have come from.
    """
    names = pa.array([conversation.conversation_id for conversation in held], pa.string())
    parts, turns = base_parts.parts(names), base_parts.turns(names)
    counts = rows_by_conversation(turns)
    starts = dict(zip(counts, accumulate(counts.values(), initial=0), strict=False))
    letters, made = list(dead), []
    for conversation in held:
        name = conversation.conversation_id
        if name not in counts:
            letters.append(_absent(conversation, base_parts, forgotten=(name, FORGOTTEN_PART.name) in parts))
            continue
        whole = _with_turns(conversation, turns.slice(starts[name], counts[name]))
        whole.supplied, more = resolve_turns(whole.supplied, whole)
        letters += more
        made.append(whole)
    if not made:
        return Batch(shard, dead=tuple(letters))
    hashes = {name: parts[name, TURNS_PART.name][0] for name in counts}
    return Batch(
        shard,
        conversations=tuple(made),
        tables={"turns": turns},
        parts=seen(parts, TURNS_PART.name, hashes, {}),
        held=parts,
        dead=tuple(letters),
        seen=turn_counts(turns) | {"units": sum(len(conversation.supplied) for conversation in made)},
    )


def turn_counts(turns: pa.Table) -> dict[str, int]:
    """How many conversations, sessions and turns some rows of turns are."""
    conversations, sessions = (
        turns.group_by(names).aggregate([]).num_rows
        for names in (["conversation_id"], ["conversation_id", "session_id"])
    )
    return {"conversations": conversations, "sessions": sessions, "turns": turns.num_rows}


def _with_turns(conversation: Conversation, turns: pa.Table) -> Conversation:
    """The conversation with its stored sessions and the ids of its turns: what its units are resolved by."""
    sessions: dict[int, Session] = {}
    columns = ("session_ordinal", "session_id", "session_label", "session_at", "zone_known")
    at = turns["session_at"].cast(pa.int64())
    lists = [(at if name == "session_at" else turns[name]).to_pylist() for name in columns]
    for number, *session in zip(*lists, strict=True):
        sessions.setdefault(number, Session(*session))
    places = {number: place for place, number in enumerate(sessions)}
    return replace(
        conversation,
        sessions=list(sessions.values()),
        session=[places[number] for number in lists[0]],
        turn_id=turns["turn_id"].to_pylist(),
    )


def _absent(conversation: Conversation, base_parts: BaseParts, *, forgotten: bool) -> DeadLetter:
    name, count = conversation.conversation_id, len(conversation.supplied)
    if forgotten:
        error = f"conversation {name!r} was forgotten: {count} units of it stay out"
        return DeadLetter("forgotten_conversation", error, conversation.source_uri, None, "conversation", "skipped")
    error = f"corpus {base_parts.corpus!r} holds no conversation {name!r}, which {count} units are of: ingest its turns first"
    return DeadLetter("unknown_conversation", error, conversation.source_uri, None, "conversation")
