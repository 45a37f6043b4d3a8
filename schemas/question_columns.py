"""The columns by which the tables of a study say which question of which cell a row is about."""

from memlake.schemas.table import INT, STRING, column

IN_CELL = (
    column("run_id", STRING, "the run of the study"),
    column("cell", STRING, "the cell"),
    column("corpus", STRING, "the corpus of the question"),
    column("conversation_id", STRING, "the conversation of the question"),
    column("question_id", STRING, "the question"),
)
CUTOFF = (
    column("cutoff_kind", STRING, "k, tokens or none"),
    column("cutoff", INT, "k, the token budget, or 0 for none"),
)
