"""Messages that each carry a time: the layout of MemSim and of its successor MemBench. A day is a session."""

import re
from typing import Any

from memlake.transforms.base.conversation import Session
from memlake.transforms.read.common.arrange import Columns
from memlake.transforms.text.dates import iso_minutes, label_of, parse_time

_DAY = 24 * 60 * 60 * 1_000_000
_CLOCK = re.compile(r"[T\s]+\d{1,2}:\d{2}", re.ASCII)


def add_said(
    columns: Columns, text: str, time: object, *, role: str, turn_id: str | None, session: Session | None = None
) -> None:
    """Append one turn said at a time; its session is its day, unless it has one already."""
    at, zone_known = parse_time(time) or (None, False)
    columns.add(text, speaker=role, role=role, turn_id=turn_id, session=session or day_of(time))
    columns.said_at[-1] = at
    columns.zone[-1] = zone_known


def day_of(time: object) -> Session | None:
    """The session of a day, dated by its midnight and by the day as the source prints it; None for what is no date.

    '2024年04月01日 周一 08:12' is of the session 2024-04-01 with the label '2024年04月01日 周一'.
    """
    moment = parse_time(time)
    label = label_of(time)
    if moment is None or label is None:
        return None
    midnight = moment[0] - moment[0] % _DAY
    return Session(iso_minutes(midnight, False)[:10], _CLOCK.split(label)[0], midnight, moment[1])


def places_of(messages: list[Any]) -> dict[str, object]:
    """The attribute that keeps where messages were said: `place`, one name or all of them in order of appearance."""
    places = [message.get("place") for message in messages if isinstance(message, dict)]
    named = list(dict.fromkeys(place for place in places if isinstance(place, str) and place))
    return {"place": named[0] if len(named) == 1 else named} if named else {}
