"""losses: where each wrong answer was lost."""

from memlake.schemas.judgements import JUDGEMENTS
from memlake.schemas.table import BOOL, STRING, Table, column

LOSSES = Table(
    name="losses",
    grain="the place where one wrong answer was lost, for one judge",
    key=JUDGEMENTS.key,
    version=2,
    columns=(
        *(field for field in JUDGEMENTS.columns if field.name in (*JUDGEMENTS.key, "conversation_id")),
        column("category", STRING, "the question's category under these labels when it was judged"),
        column(
            "loss",
            STRING,
            "failed_abstention, not_in_source, not_stored, not_retrieved, packed_out or misread; the first that holds, by "
            "the words of the gold answer, or by its gold turns where it has no words",
        ),
        column(
            "judge_disputed",
            BOOL,
            "whether another judge of answers, or the match of content tokens, calls the answer correct",
        ),
    ),
)
