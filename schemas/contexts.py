"""contexts: what the reader would see."""

from memlake.schemas.question_columns import IN_CELL
from memlake.schemas.table import FLOAT, INT, STRING, STRINGS, Table, column

CONTEXTS = Table(
    name="contexts",
    grain="what a reader sees for a question in a cell at one cutoff",
    key=("run_id", "cell", "corpus", "question_id", "cutoff_kind", "cutoff"),
    version=2,
    columns=(
        *IN_CELL,
        column(
            "cutoff_kind",
            STRING,
            "k: the first k units; tokens: units while their cost fits the budget; candidates: the candidate list that a "
            "loss is told by, which no reader sees and no metric scores",
        ),
        column("cutoff", INT, "k, the token budget, or the depth of the candidate list"),
        column(
            "units", INT, "how many leading ranks are in the context; one whose text better ones show too adds nothing"
        ),
        column("tokens", INT, "sum of its pieces' costs under the tokeniser, which is what a budget counts"),
        column("tokeniser", STRING, "the tokeniser that counted"),
        column(
            "text",
            STRING,
            "the packed text: what each unit shows, one line break between; null at a cutoff whose text is not kept, where "
            "the first `units` ranks of retrievals and the cell's plan say what it would be",
            null=True,
        ),
        column("content_tokens", STRINGS, "distinct content tokens of the packed text, sorted"),
        column(
            "store_share",
            FLOAT,
            "which share of the conversation's units are candidates, after links were followed; null without units",
            later=True,
        ),
    ),
)
