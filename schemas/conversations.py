"""conversations: what was read, one row a conversation."""

from memlake.schemas.table import INT, STRING, TIME, Table, column

CONVERSATIONS = Table(
    name="conversations",
    grain="a conversation of a corpus",
    key=("corpus", "conversation_id"),
    partition_by=("corpus",),
    columns=(
        column("corpus", STRING, "the named set of conversations that this one belongs to"),
        column("conversation_id", STRING, "the source's own id, else one derived from the content"),
        column("source_uri", STRING, "where it was read from"),
        column("format", STRING, "the reader that read it"),
        column("sessions", INT, "how many sessions it has"),
        column("turns", INT, "how many turns it has"),
        column("characters", INT, "length of its canonical text in Unicode code points"),
        column("content_hash", STRING, "128-bit blake2b of its turns; equal means unchanged"),
        column("first_at", TIME, "earliest known time of a turn or session", null=True),
        column("last_at", TIME, "latest known time of a turn or session", null=True),
    ),
)
