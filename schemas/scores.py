"""scores: the value of a metric for one question."""

from memlake.schemas.answers import ANSWERS
from memlake.schemas.question_columns import CUTOFF, IN_CELL
from memlake.schemas.table import FLOAT, INT, STRING, Table, column

SCORES = Table(
    name="scores",
    grain="a metric's value for one question in a cell at one cutoff",
    key=(*ANSWERS.key, "metric", "label_set", "judge"),
    version=2,
    columns=(
        *IN_CELL,
        *CUTOFF,
        column("repeat", INT, "which repetition of the answer, from 0; 0 where there is no answer"),
        column("metric", STRING, "the metric's name"),
        column("label_set", STRING, "the labels that it was scored against"),
        column("category", STRING, "the question's category under these labels when it was scored"),
        column("judge", STRING, "the judge; '' where none"),
        column("value", FLOAT, "the value, 0 to 1, of bleu 0 to 100; null when not scored", null=True),
        column("reason", STRING, "why it was not scored; null when it was", null=True),
    ),
)
