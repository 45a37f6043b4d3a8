"""parts: the unit of change, so that what did not change is neither read again nor embedded again."""

from memlake.schemas.table import INT, STRING, Table, column

PARTS = Table(
    name="parts",
    grain="a separately replaceable part of a conversation: its turns, its questions, one representation, one embedding",
    key=("corpus", "conversation_id", "part"),
    partition_by=("corpus",),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation"),
        column("part", STRING, "turns, questions:LABEL_SET, units:REPRESENTATION, vectors:TABLE or forgotten"),
        column("content_hash", STRING, "128-bit blake2b of the part's canonical columns and its maker's revision"),
        column("rows", INT, "how many rows the part has in its main table"),
    ),
)
