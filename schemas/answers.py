"""answers: what a reader said."""

from memlake.schemas.contexts import CONTEXTS
from memlake.schemas.question_columns import CUTOFF, IN_CELL
from memlake.schemas.table import BOOL, INT, STRING, Table, column

ANSWERS = Table(
    name="answers",
    grain="a reader's answer to a question in a cell at one cutoff",
    version=2,
    key=(*CONTEXTS.key, "repeat"),
    columns=(
        *IN_CELL,
        *CUTOFF,
        column("repeat", INT, "which repetition of the same call, from 0"),
        column("text", STRING, "the answer; null when the reader failed", null=True),
        column("reason", STRING, "why there is no answer", null=True),
        column(
            "abstained", BOOL, "whether it says that there is no answer to be found; null without an answer", null=True
        ),
        column(
            "option", INT, "the option that it chooses, from 0; null where it names none or there are none", null=True
        ),
        column(
            "request_hash",
            STRING,
            "what the model was asked, as calls and cache name it; null without a model",
            null=True,
        ),
    ),
)
