"""judgements: verdicts on answers."""

from memlake.schemas.answers import ANSWERS
from memlake.schemas.question_columns import CUTOFF, IN_CELL
from memlake.schemas.table import BOOL, INT, STRING, Table, column

JUDGEMENTS = Table(
    name="judgements",
    grain="a verdict of one judge on one answer",
    key=(*ANSWERS.key, "judge", "label_set", "judge_repeat"),
    version=2,
    columns=(
        *IN_CELL,
        *CUTOFF,
        column("repeat", INT, "which repetition of the answer, from 0"),
        column("judge", STRING, "the judge"),
        column("label_set", STRING, "the labels that it judged against"),
        column("judge_repeat", INT, "which repetition of the verdict, from 0"),
        column("correct", BOOL, "the verdict; null when the judge failed or could not be parsed", null=True),
        column("reason", STRING, "why there is no verdict", null=True),
        column("reply", STRING, "the judge's reply, whole; null without a model", null=True),
        column(
            "request_hash",
            STRING,
            "what the model was asked, as calls and cache name it; null without a model",
            null=True,
        ),
    ),
)
