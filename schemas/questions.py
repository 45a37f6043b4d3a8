"""questions: what a benchmark asks."""

from memlake.schemas.table import BOOL, INT, STRING, STRINGS, TIME, Table, column

QUESTIONS = Table(
    name="questions",
    grain="a benchmark question under one set of labels",
    key=("corpus", "question_id", "label_set"),
    partition_by=("corpus",),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation that it asks about"),
        column(
            "question_id",
            STRING,
            "CONVERSATION_ID:ID, the source's own id (its ':' as %3A) or q and its place; unique in the corpus",
        ),
        column("label_set", STRING, "whose labels: official, or corrected"),
        column("position", INT, "its place among the conversation's questions, from 0"),
        column("text", STRING, "the question"),
        column("answer", STRING, "the gold answer; null when the benchmark has none", null=True),
        column("answers", STRINGS, "every accepted answer, the gold one first"),
        column("answer_tokens", STRINGS, "distinct content tokens of answer, sorted (specs: content tokens)"),
        column("category", STRING, "the benchmark's own category id or name"),
        column("asked_at", TIME, "when it is asked, when the benchmark says so", null=True),
        column("options", STRINGS, "the choices of a multiple-choice question, in the source's order"),
        column("answerable", BOOL, "false for adversarial and abstention questions"),
        column("attributes", STRING, "anything else the source says of it, as JSON", null=True),
    ),
)
