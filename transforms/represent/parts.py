"""Rows of the table parts for units, so that what did not change is not made, embedded or written again."""

from collections.abc import Sequence

import pyarrow as pa

from schemas.parts import PARTS
from schemas.table import settings_json
from transforms.ids import content_id
from transforms.represent.representation import Making, Units


def units_part(representation: str) -> str:
    """The name of the part that holds a representation's units."""
    return f"units:{representation}"


def derived_part_hash(turns_hash: str, settings_hash: str) -> str:
    """Content hash of units that follow from a conversation's turns alone: no need to make them to know it."""
    return content_id(turns_hash, settings_hash)


def unfinished_part_hash(units_hash: str, requests: Sequence[str]) -> str:
    """Content hash of units that lack the replies to some requests: never what the next run looks for."""
    return content_id(units_hash, "unfinished", *sorted(requests))


def supplied_parts(making: Making, made: Units) -> pa.Table:
    """Rows of parts for supplied units, one a conversation that has any; the hash is over all their columns."""
    groups = made.units.group_by(["corpus", "conversation_id"], use_threads=False).aggregate([([], "count_all")])
    corpora, conversations, counts = (column.to_pylist() for column in groups.columns)
    rows = {key: [making.settings_hash] for key in zip(corpora, conversations, strict=True)}
    units = made.units.drop_columns("key_text")
    event_at = units["event_at"].cast(pa.int64())
    for table in (units.set_column(units.schema.get_field_index("event_at"), "event_at", event_at), made.provenance):
        for row in table.to_pylist():
            rows[row["corpus"], row["conversation_id"]].append(settings_json(row))
    return pa.table(
        {
            "corpus": corpora,
            "conversation_id": conversations,
            "part": [units_part(making.name)] * len(rows),
            "content_hash": [content_id(*texts) for texts in rows.values()],
            "rows": counts,
        },
        schema=PARTS.schema,
    )
