"""evidence: the gold turns of the questions."""

from memlake.schemas.table import INT, STRING, Table, column

EVIDENCE = Table(
    name="evidence",
    grain="a gold turn of a question under one set of labels",
    key=("corpus", "question_id", "label_set", "position"),
    partition_by=("corpus",),
    columns=(
        column("corpus", STRING, "the corpus of the conversation"),
        column("conversation_id", STRING, "the conversation of the question"),
        column("question_id", STRING, "the question"),
        column("label_set", STRING, "whose labels: official, or corrected"),
        column("position", INT, "its place in the question's evidence, from 0, after splitting joined ids"),
        column("raw_id", STRING, "the id as the source writes it"),
        column("turn_id", STRING, "the turn that it names; null when it names none", null=True),
        column("ordinal", INT, "that turn's place in the conversation; null when it names none", null=True),
        column(
            "status",
            STRING,
            "valid, normalised (repaired by rule), duplicate, malformed, dangling, or abstention (a turn of a question that "
            "its benchmark leaves out of retrieval metrics); only valid and normalised ones are gold",
        ),
    ),
)
