"""dead_letters: what could not be processed, and why."""

from memlake.schemas.table import INT, STRING, TIME, Table, column

DEAD_LETTERS = Table(
    name="dead_letters",
    grain="something that could not be processed as it stood",
    key=("run_id", "stage", "payload_id"),
    journal=True,
    columns=(
        column("run_id", STRING, "the run that met it"),
        column("stage", STRING, "read, represent, embed, extract, commit"),
        column("payload_id", STRING, "128-bit blake2b of what it is and where it stands"),
        column("reason", STRING, "a short fixed name: truncated_json, wrong_encoding, null_text, ..."),
        column("scope", STRING, "what was hit: file, conversation, turn, question, unit"),
        column("outcome", STRING, "dropped (content lost), skipped (nothing to store) or kept (landed, flagged)"),
        column("source_uri", STRING, "the file or table"),
        column("position", INT, "line (from 1) or item (from 0) in it; null when the whole is meant", null=True),
        column("error", STRING, "what was wrong, in one line"),
        column(
            "payload", STRING, "the thing itself where it stands nowhere else, such as a model's raw reply", later=True
        ),
        column("logged_at", TIME, "when it was met"),
    ),
)
