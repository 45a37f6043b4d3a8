"""Supplied units: what another system extracted and the source brought along, taken as it is."""

import json
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from memlake.schemas.links import LINKS
from memlake.schemas.parts import PARTS
from memlake.schemas.table import TIME, settings_json
from memlake.transforms.base.conversation import Conversation, DeadLetter, Session, SuppliedUnit
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import check_name, content_id
from memlake.transforms.lake.storage.parts import UNITS_PART
from memlake.transforms.represent.catalogue import kind_named
from memlake.transforms.represent.common.representation import RepresentationSpec, Units
from memlake.transforms.represent.common.units import provenance_table, unit_table
from memlake.transforms.text.canonical import header, rank_in_run

SUPPLIED_REVISION = 1
Item = tuple[int, Session | None, SuppliedUnit]


def check_supplied_name(name: str) -> str:
    """Return a name under which a source may bring units.

    Raises:
        UsageError: the name is not safe as a folder, or stands for units that are made here.
    """
    kind = kind_named(check_name("representation", name))
    if kind is not None:
        raise UsageError(
            f"representation={name!r} of a source's own units stands for {kind!r}, which is made from turns",
            hint="give the source's units another name",
        )
    return name


def supplied_spec(name: str) -> RepresentationSpec:
    """What stands in the table of representations for units that came with their source.

    Raises:
        UsageError: see check_supplied_name.
    """
    check_supplied_name(name)
    settings_hash = content_id("supplied", settings_json({}), SUPPLIED_REVISION)
    return RepresentationSpec(name, "supplied", {}, settings_hash, SUPPLIED_REVISION)


def refused_supplies(conversations: Sequence[Conversation]) -> list[DeadLetter]:
    """A dead letter for each supplied unit whose representation's name cannot be used; such units are not made."""
    return [
        DeadLetter("reserved_representation", problem, conversation.source_uri, place, "unit", stage="represent")
        for conversation in conversations
        for place, unit in enumerate(conversation.supplied)
        if (problem := _problem(unit.representation))
    ]


def supplied_units(corpus: str, conversations: Sequence[Conversation], turns: pa.Table) -> dict[str, Units]:
    """Units of every representation that these conversations bring, with the turns that they name as provenance.

    Units of a representation whose name cannot be used are left out: see refused_supplies.

    Args:
        turns: the same conversations' rows of the table turns. A named turn that they lack is no provenance: its id is
            kept in the unit's attributes as `unresolved_turn_ids`.
    """
    items: defaultdict[str, list[Item]] = defaultdict(list)
    for number, conversation in enumerate(conversations):
        for unit in conversation.supplied:
            if _problem(unit.representation):
                continue
            session = None if unit.session is None else conversation.sessions[unit.session]
            items[unit.representation].append((number, session, unit))
    if not items:
        return {}
    # The first of two turns with one id, so the columns are read backwards.
    backwards = [turns[name].to_pylist()[::-1] for name in ("conversation_id", "turn_id", "ordinal")]
    ordinals = {
        (conversation_id, turn_id): ordinal for conversation_id, turn_id, ordinal in zip(*backwards, strict=True)
    }
    ids = [conversation.conversation_id for conversation in conversations]
    return {name: _units_of(supplied_spec(name), corpus, ids, of_name, ordinals) for name, of_name in items.items()}


@cache
def _problem(name: str) -> str:
    """What is wrong with a representation's name; '' when nothing is."""
    try:
        check_supplied_name(name)
    except UsageError as error:
        return error.message
    return ""


def _units_of(
    spec: RepresentationSpec, corpus: str, ids: list[str], items: list[Item], ordinals: dict[tuple[str, str], int]
) -> Units:
    named = [[(ids[number], turn_id) for turn_id in unit.turn_ids] for number, _, unit in items]
    found = [[key for key in keys if key in ordinals] for keys in named]
    lost = [[key[1] for key in keys if key not in ordinals] for keys in named]
    headers = [header(session.label if session else None) for _, session, _ in items]
    attributes = [
        _json(unit.attributes | ({"unresolved_turn_ids": missing} if missing else {}))
        for (_, _, unit), missing in zip(items, lost, strict=True)
    ]
    units = unit_table(
        spec,
        corpus=pa.repeat(corpus, len(items)),
        conversation_id=pa.array([ids[number] for number, _, _ in items], pa.string()),
        ordinal=rank_in_run(np.array([number for number, _, _ in items], np.int64)),
        kind=pa.array([unit.kind for _, _, unit in items], pa.string()),
        session_id=pa.array([session.session_id if session else None for _, session, _ in items], pa.string()),
        show_text=[lead + unit.text for lead, (_, _, unit) in zip(headers, items, strict=True)],
        header_chars=np.fromiter(map(len, headers), np.int64, len(headers)),
        event_at=pa.array([session.at if session else None for _, session, _ in items], TIME),
        speaker=pa.array([unit.speaker for _, _, unit in items], pa.string()),
        attributes=pa.array(attributes, pa.string()),
    )
    pieces = [key for keys in found for key in keys]
    provenance = provenance_table(
        units,
        np.repeat(np.arange(len(found)), [len(keys) for keys in found]),
        turn_id=pa.array([turn_id for _, turn_id in pieces], pa.string()),
        ordinal=np.array([ordinals[key] for key in pieces], np.int64),
        span=None,
        grounding="none",
        touches_text=np.ones(len(pieces), np.bool_),
    )
    return Units(units, provenance, LINKS.empty())


def _json(attributes: dict[str, object]) -> str | None:
    return json.dumps(attributes, sort_keys=True, ensure_ascii=False) if attributes else None


def supplied_parts(spec: RepresentationSpec, made: Units) -> pa.Table:
    """Rows of parts for supplied units, one a conversation that has any; the hash is over all their columns."""
    groups = made.units.group_by(["corpus", "conversation_id"], use_threads=False).aggregate([([], "count_all")])
    corpora, conversations, counts = (column.to_pylist() for column in groups.columns)
    rows = {key: [spec.settings_hash] for key in zip(corpora, conversations, strict=True)}
    units = made.units.drop_columns("key_text")
    event_at = units["event_at"].cast(pa.int64())
    for table in (units.set_column(units.schema.get_field_index("event_at"), "event_at", event_at), made.provenance):
        for row in table.to_pylist():
            rows[row["corpus"], row["conversation_id"]].append(settings_json(row))
    return pa.table(
        {
            "corpus": corpora,
            "conversation_id": conversations,
            "part": [UNITS_PART.named(spec.name)] * len(rows),
            "content_hash": [content_id(*texts) for texts in rows.values()],
            "rows": counts,
        },
        schema=PARTS.schema,
    )
