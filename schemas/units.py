"""units: what a representation remembers, one row an item."""

from memlake.schemas.table import INT, STRING, TIME, Table, column

UNITS = Table(
    name="units",
    grain="a memory item of a representation",
    key=("corpus", "representation", "unit_id"),
    partition_by=("corpus", "representation"),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation that it was made from"),
        column("representation", STRING, "the way it was made"),
        column("unit_id", STRING, "128-bit blake2b of corpus, conversation, representation, position and text"),
        column("ordinal", INT, "its place among the conversation's units, from 0"),
        column("kind", STRING, "chunk, turn, session, sentence, observation, summary, event, ..."),
        column("session_id", STRING, "the session that it belongs to; null when it spans several", null=True),
        column("key_text", STRING, "what is indexed"),
        column("show_text", STRING, "what a reader sees"),
        column(
            "header_chars",
            INT,
            "leading code points of show_text that are no slice: the session date header; a sentence's speaker",
        ),
        column("span_start", INT, "for slices: canonical[span_start:span_end] == show_text[header_chars:]", null=True),
        column("span_end", INT, "for slices: one past the last code point in the canonical text", null=True),
        column("event_at", TIME, "when what it tells took place, when known", null=True),
        column("speaker", STRING, "who said it, when it is one person's", null=True),
        column("attributes", STRING, "anything else that the representation knows, as JSON", null=True),
    ),
)
