"""contexts: what the reader would see."""

from schemas.table import INT, STRING, STRINGS, Table, column

CONTEXTS = Table(
    name="contexts",
    grain="what a reader sees for a question in a cell at one cutoff",
    key=("run_id", "cell", "corpus", "question_id", "cutoff_kind", "cutoff"),
    version=2,
    columns=(
        column("run_id", STRING, "the run of the study"),
        column("cell", STRING, "the cell"),
        column("corpus", STRING, "the corpus of the question"),
        column("conversation_id", STRING, "the conversation of the question"),
        column("question_id", STRING, "the question"),
        column("cutoff_kind", STRING, "k: the first k units; tokens: units while their cost fits the budget"),
        column("cutoff", INT, "k, or the token budget"),
        column("units", INT, "how many leading ranks are in the context"),
        column("tokens", INT, "sum of its units' costs under the tokeniser, which is what a budget counts"),
        column("tokeniser", STRING, "the tokeniser that counted"),
        column(
            "text",
            STRING,
            "the packed text: show_text of each unit, one line break between; null at a cutoff of k, which no reader is "
            "asked at: the first `units` ranks of retrievals say what it would be",
            null=True,
        ),
        column("content_tokens", STRINGS, "distinct content tokens of the packed text, sorted"),
    ),
)
