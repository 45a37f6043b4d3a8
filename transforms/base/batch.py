"""What flows between the stages of a pipeline: a few conversations of one shard, as Arrow tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from memlake.transforms.base.conversation import Conversation, DeadLetter

# One row a part of a conversation that the shard knows; `staged` is False when the lake already holds it.
PARTS_SEEN = pa.schema(
    [
        pa.field("conversation_id", pa.string(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        pa.field("content_hash", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("staged", pa.bool_(), nullable=False),
    ]
)
# What the lake holds of some conversations: (conversation_id, part) to (content_hash, rows).
Held = Mapping[tuple[str, str], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows on their way to the lake.

    Attributes:
        shard: digest that names the shard and its manifest.
        index: the shard's place in its job; two shards of equal content have one name and two places.
        conversations: as read, until their units are built; empty for stored turns.
        tables: rows by Delta table, in the schemas of those tables; none in a batch of dead letters or a closing one.
        vectors: rows by Lance table.
        parts: PARTS_SEEN, every part that the batch's conversations have.
        held: what the lake holds of the batch's conversations: looked up once, where the batch is read.
        seen: what was read, changed or not (conversations, sessions, turns, questions, ...).
        total: on the closing batch of a shard, which has no rows: how many batches came before it.
        conflicts: on the closing batch: how many shards NAME-1, NAME-2, ... hold other versions of conversations.
    """

    shard: str
    index: int = 0
    conversations: tuple[Conversation, ...] = ()
    tables: dict[str, pa.Table] = field(default_factory=dict)
    vectors: dict[str, pa.Table] = field(default_factory=dict)
    parts: pa.Table = field(default_factory=PARTS_SEEN.empty_table)
    held: Held = field(default_factory=dict)
    dead: tuple[DeadLetter, ...] = ()
    seen: dict[str, int] = field(default_factory=dict)
    total: int | None = None
    conflicts: int = 0
