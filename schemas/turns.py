"""turns: the record itself, one row a message."""

from memlake.schemas.table import BOOL, INT, STRING, TIME, Table, column

TURNS = Table(
    name="turns",
    grain="a message of a conversation",
    key=("corpus", "conversation_id", "ordinal"),
    partition_by=("corpus",),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation that it belongs to"),
        column("ordinal", INT, "its place in the conversation, from 0"),
        column("session_id", STRING, "the sitting that it belongs to; opaque, unique in the conversation"),
        column("session_ordinal", INT, "the session's place in the conversation, from 0"),
        column("session_at", TIME, "when the session took place; null when unknown", null=True),
        column(
            "session_label",
            STRING,
            "the session's date as the source prints it (ISO minutes when the source is machine-formatted)",
            null=True,
        ),
        column("zone_known", BOOL, "whether the source gave a time zone; false: its clock was read as UTC"),
        column("turn_id", STRING, "the source's id of the message, else its ordinal as text"),
        column("speaker", STRING, "who speaks, as the source names them"),
        column("role", STRING, "user, assistant, system, tool or participant"),
        column("kind", STRING, "message, tool_call, tool_result or system"),
        column("text", STRING, "the message, exactly; a caption is appended as ' [shares CAPTION]'"),
        column("source_chars", INT, "how many leading code points of text are the source's own"),
        column("said_at", TIME, "when the message was said; null when unknown", null=True),
        column("char_start", INT, "first code point of 'speaker: text' in the conversation's canonical text"),
        column("char_end", INT, "one past its line break, or past its text for the last turn"),
    ),
)
