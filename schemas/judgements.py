"""judgements: verdicts on answers."""

from memlake.schemas.table import BOOL, INT, STRING, Table, column

JUDGEMENTS = Table(
    name="judgements",
    grain="a verdict of one judge on one answer",
    key=(
        "run_id",
        "cell",
        "corpus",
        "question_id",
        "cutoff_kind",
        "cutoff",
        "repeat",
        "judge",
        "label_set",
        "judge_repeat",
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
