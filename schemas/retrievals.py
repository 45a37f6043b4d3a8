"""retrievals: what a cell brought back."""

import pyarrow as pa

from memlake.schemas.table import INT, STRING, Table, column

# The parts of a score that have a column of their own; any other is an entry of the map `parts`.
PART_COLUMNS = ("dense", "lexical", "sparse", "multi", "rerank")

RETRIEVALS = Table(
    name="retrievals",
    grain="a ranked unit for a question in a cell",
    key=("run_id", "cell", "corpus", "question_id", "rank"),
    columns=(
        column("run_id", STRING, "the run of the study"),
        column("cell", STRING, "the cell"),
        column("corpus", STRING, "the corpus of the question"),
        column("conversation_id", STRING, "the conversation of the question"),
        column("question_id", STRING, "the question"),
        column("rank", INT, "place in the ranked list, from 1"),
        column("representation", STRING, "the representation of the unit"),
        column("unit_id", STRING, "the unit"),
        column("score", pa.float32(), "what it was ranked by, before a reranker; ties by unit_id ascending"),
        column("dense", pa.float32(), "the dense part: cosine of question and unit", null=True),
        column("lexical", pa.float32(), "the lexical part: BM25 before scaling", null=True),
        column("sparse", pa.float32(), "the sparse part: sum over shared tokens of weight times weight", later=True),
        column("multi", pa.float32(), "the multi-vector part: mean of each question token's best cosine", later=True),
        column("rerank", pa.float32(), "the reranker's score of those it was shown; they lead, by it", later=True),
        column("parts", pa.map_(STRING, pa.float32()), "what other steps gave it, by the part's name", later=True),
    ),
)
