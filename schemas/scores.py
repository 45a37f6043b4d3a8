"""scores: the value of a metric for one question."""

from memlake.schemas.table import FLOAT, INT, STRING, Table, column

SCORES = Table(
    name="scores",
    grain="a metric's value for one question in a cell at one cutoff",
    key=(
        "run_id",
        "cell",
        "corpus",
        "question_id",
        "cutoff_kind",
        "cutoff",
        "repeat",
        "metric",
        "label_set",
        "judge",
    ),
    version=2,
    columns=(
        column("run_id", STRING, "the run of the study"),
        column("cell", STRING, "the cell"),
        column("corpus", STRING, "the corpus of the question"),
        column("conversation_id", STRING, "the conversation of the question"),
        column("question_id", STRING, "the question"),
        column("cutoff_kind", STRING, "k, tokens or none"),
        column("cutoff", INT, "k, the token budget, or 0 for none"),
        column("repeat", INT, "which repetition of the answer, from 0; 0 where there is no answer"),
        column("metric", STRING, "the metric's name"),
        column("label_set", STRING, "the labels that it was scored against"),
        column("category", STRING, "the question's category under these labels when it was scored"),
        column("judge", STRING, "the judge; '' where none"),
        column("value", FLOAT, "the value, 0 to 1, of bleu 0 to 100; null when not scored", null=True),
        column("reason", STRING, "why it was not scored; null when it was", null=True),
    ),
)
